"""Programs of roles and plugins, which lie in no package, as modules."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path


def load_program(path):
    """Return a program as a module of its own each time: what a test sets in it, no other sees."""
    spec = spec_from_file_location(f"gpuyard_{Path(path).stem}", path)
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for what their annotations name
    spec.loader.exec_module(module)
    return module

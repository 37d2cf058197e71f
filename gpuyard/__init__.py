"""gpuyard as a library, under the name it is installed by; docs/python-api.md has examples.

It holds what `cluster_model.pipeline` has for programs, and the findings that come back. To import it loads no stage.
"""

from cluster_model import __version__
from cluster_model.diagnostic import Diagnostic
from cluster_model.pipeline import (
    Changes,
    Inspection,
    Opened,
    RefusedError,
    UnknownNameError,
    check_families,
    choose_scope,
    compare,
    inspect,
    plan,
    render,
    validate,
    verify,
    verify_ceph,
    verify_hosts,
    write,
)

__all__ = [
    "__version__",
    "Diagnostic",
    "Changes",
    "Inspection",
    "Opened",
    "RefusedError",
    "UnknownNameError",
    "check_families",
    "choose_scope",
    "compare",
    "inspect",
    "plan",
    "render",
    "validate",
    "verify",
    "verify_ceph",
    "verify_hosts",
    "write",
]

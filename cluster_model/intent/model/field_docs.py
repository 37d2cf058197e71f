"""What the fields of a model are for: the docstrings under them.

pydantic reads these itself with `use_attribute_docstrings`, at every import, by parsing each class's source. That cost
`gpuyard validate` an eighth of its CPU time, and it shows one of them at most, where a key is wrong.
"""

from __future__ import annotations

import ast
import inspect
import sys
from functools import cache
from typing import Any

from pydantic import BaseModel


def read_field_docs(model: type[BaseModel]) -> dict[str, str]:
    """Return the docstring under each field of a model, its bases' included; fields without one are left out."""
    found: dict[str, str] = {}
    for part in reversed(model.__mro__):
        if issubclass(part, BaseModel) and part is not BaseModel:
            found |= _read_module(part.__module__).get(part.__qualname__, {})
    return found


def add_field_docs(schema: dict[str, Any], base: type[BaseModel]) -> None:
    """Write the docstrings into a JSON Schema that pydantic made, as `description` of each property.

    Args:
        schema: of a model that derives from `base`; its `$defs` are named as their classes.
        base: what all models in it derive from.
    """
    models = {model.__name__: model for model in _list_models(base)}
    for name, part in {schema["title"]: schema, **schema.get("$defs", {})}.items():
        docs = read_field_docs(models[name]) if name in models else {}
        for key, prop in part.get("properties", {}).items():
            if key in docs:
                prop.setdefault("description", docs[key])


def _list_models(base: type[BaseModel]) -> list[type[BaseModel]]:
    return [found for model in base.__subclasses__() for found in (model, *_list_models(model))]


@cache
def _read_module(name: str) -> dict[str, dict[str, str]]:
    """Return class → field → docstring of a module's source, parsed once."""
    tree = ast.parse(inspect.getsource(sys.modules[name]))
    found: dict[str, dict[str, str]] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            texts: dict[str, str] = {}
            for field, doc in zip(node.body, node.body[1:], strict=False):
                match field, doc:
                    case ast.AnnAssign(target=ast.Name(id=key)), ast.Expr(value=ast.Constant(value=str(text))):
                        texts[key] = inspect.cleandoc(text)
            found[node.name] = texts
    return found

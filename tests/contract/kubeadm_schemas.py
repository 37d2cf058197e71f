"""What kubeadm, the kubelet, kube-proxy and the API server take in their configuration files, by the schemas in kubeadm/."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import yaml

FILES = {path.stem: yaml.safe_load(path.read_text()) for path in sorted(Path(__file__, "../kubeadm").resolve().glob("*.yaml"))}
COMMON = FILES.pop("common")["$defs"]
SCHEMAS = {
    (document["$id"], kind): jsonschema.Draft202012Validator({"$ref": f"#/$defs/{kind}", "$defs": COMMON | document["$defs"]})
    for document in FILES.values()
    for kind, found in document["$defs"].items()
    if "kind" in found.get("properties", {})
}
"""By apiVersion and kind; kubeadm/ says for each file from where its fields are."""


def judge(document: Any) -> str:
    """Return what is wrong with one document of a configuration file; empty where nothing is."""
    if not isinstance(document, dict):
        return f"$: {document!r} is not an object"
    named = document.get("apiVersion"), document.get("kind")
    schema = next((schema for known, schema in SCHEMAS.items() if known == named), None)
    if schema is None:
        return f"$: no schema is known for apiVersion {named[0]!r}, kind {named[1]!r}"
    wrong = [f"{error.json_path}: {error.message}" for error in sorted(schema.iter_errors(document), key=lambda e: e.json_path)]
    if not wrong and named[1] == "AdmissionConfiguration":
        inner = [plugin["configuration"] for plugin in document["plugins"] if "configuration" in plugin]
        wrong = [fault for configuration in inner if (fault := judge(configuration))]
    return "; ".join(wrong)

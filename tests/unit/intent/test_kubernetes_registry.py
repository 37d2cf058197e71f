"""The registry that mirrors a cluster's images: what is one, and what is not."""

import pytest

from tests.unit.intent.test_hostile_text import is_refused, place, validate

PATH = "kubernetes.registry"


@pytest.mark.parametrize(
    "text",
    [
        "registry.example.net",
        "registry.example.net/k8s",
        "registry.example.net:5000/k8s/mirror_of.all",
        "10.255.0.60:5000",
        "registry:5000/a--b",
        "xn--bcher-kva.example/k8s",
    ],
)
def test_a_registry(text, tmp_path):
    assert not [finding for finding in validate(tmp_path, place(PATH, text)) if finding.where == PATH]


@pytest.mark.parametrize(
    "text",
    [
        "registry",  # without a dot or a port it is a path at Docker Hub
        "https://registry.example.net",
        "registry.example.net/",
        "registry.example.net/k8s/",
        "registry.example.net//k8s",
        "registry.example.net/K8s",
        "registry.example.net:port",
        "registry.example.net:",
        "user@registry.example.net",
        "registry.example.net/k8s:v1",
        "registry.example.net/k8s@sha256:0",
        "registry.example.net/../k8s",
        "registry.example.net /k8s",
        "-registry.example.net",
        "registry..example.net",
        "",
        "a." * 60 + "net",  # longer than leaves room for an image's own name in the 255 of a reference
    ],
)
def test_no_registry(text, tmp_path):
    assert is_refused(validate(tmp_path, place(PATH, text)), PATH)

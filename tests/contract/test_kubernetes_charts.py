"""Values of Helm charts against what each chart knows, the lock of charts, and the list of images."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster_model.plan.model import Plan
from cluster_model.render.kubernetes.charts import CNI, list_charts, read_charts
from cluster_model.render.kubernetes.images import render_images
from cluster_model.render.kubernetes.network.network_operator import render_policy
from cluster_model.render.kubernetes.values import render_values
from tests.planned import open_example

KNOWN: dict[str, Any] = {
    path.stem: yaml.safe_load(path.read_text("utf-8")) for path in Path(__file__, "../charts").resolve().glob("*.yaml")
}
EXAMPLES = ("driving", "lab", "superpod-roce")
REGISTRY = "registry.example.net:5000/k8s"
WAYS = [(cni, queueing, registry) for cni in CNI for queueing in ("volcano", "kueue", "none") for registry in ("", REGISTRY)]
"""Network plug-in, queueing and registry, in all combinations."""
OF_SOME = {"network-operator", "ceph-csi-rbd", "ceph-csi-cephfs"}
"""Charts of some examples."""


def alter(example: str, cni: str = "cilium", queueing: str = "volcano", registry: str = "") -> Plan:
    plan = open_example(example).plan
    return replace(plan, kubernetes=replace(plan.kubernetes, cni=cni, queueing=queueing, registry=registry))


def read_values(plan: Plan) -> dict[str, Any]:
    """Return the values of each chart."""
    return {Path(path).stem: yaml.safe_load(data) for path, data in render_values(plan)}


def judge(said: Any, known: Any, where: str = "") -> Iterator[str]:
    """Yield what a chart does not know: a key, or a value of another kind."""
    if type(said) is not type(known):
        yield f"{where}: {said!r} is no {type(known).__name__}"
    elif isinstance(said, dict):
        for key, value in said.items():
            if key in known:
                yield from judge(value, known[key], f"{where}.{key}")
            else:
                yield f"{where}.{key} is unknown"
    elif isinstance(said, list):
        for item in said:
            yield from judge(item, known[0], where)


def list_leaves(value: Any, where: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from list_leaves(inner, (*where, key))
    else:
        yield where, value


def look_up(values: Any, where: tuple[str, ...]) -> Any:
    for key in where:
        values = values[key]
    return values


@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.parametrize(("cni", "queueing", "registry"), WAYS)
def test_a_chart_knows_all_that_it_is_told(example, cni, queueing, registry):
    plan = alter(example, cni, queueing, registry)
    values = read_values(plan)
    wanted = {CNI[cni], "gpu-operator", *({queueing} - {"none"})}
    assert wanted <= set(values) == {chart.name for chart in list_charts(plan)} <= wanted | OF_SOME
    assert [fault for name, said in values.items() for fault in judge(said, KNOWN[name], name)] == []
    for name, said in values.items():
        for where, value in list_leaves(said):
            assert value != look_up(KNOWN[name], where), f"{name} says {'.'.join(where)} by itself"


def test_every_misspelt_key_is_found():
    ways = [(example, cni) for example in EXAMPLES for cni in CNI]
    found = {name: said for example, cni in ways for name, said in read_values(alter(example, cni, registry=REGISTRY)).items()}
    assert set(found) == set(KNOWN) - {"kueue"}
    for name, said in found.items():
        for where, _ in list_leaves(said):
            for depth in range(len(where)):
                broken = copy.deepcopy(said)
                outer = look_up(broken, where[:depth])
                outer[where[depth] + "s"] = outer.pop(where[depth])
                assert list(judge(broken, KNOWN[name])), f"{name}: {where}"


def test_pods_get_gpus_in_the_way_that_hosts_heed():
    """Hosts heed no variable of an unprivileged container, so the device plugin names CDI devices, and containerd takes them."""
    hosts = yaml.safe_load((Path(__file__).parents[2] / "roles/container_toolkit/defaults/main.yml").read_text("utf-8"))
    assert hosts["container_toolkit_unprivileged_env"] is False
    assert hosts["container_toolkit_cdi"] is True
    said = read_values(alter("superpod-roce"))["gpu-operator"]
    assert said.get("cdi", KNOWN["gpu-operator"]["cdi"])["enabled"] is True
    assert "env" not in said.get("devicePlugin", {}), "another strategy than the operator's own"


@pytest.mark.parametrize("name", sorted(read_charts()))
def test_the_lock_says_where_each_chart_is_from(name):
    chart = read_charts()[name]
    assert re.match(r"(https|oci)://[a-z0-9.-]+(/|$)", chart.repository)
    assert re.fullmatch(r"v?\d+\.\d+\.\d+", chart.version)
    assert chart.source
    assert isinstance(chart.confirmed, bool)
    assert chart.images
    for image in chart.images:
        host = image.name.partition("/")[0]
        assert "." in host
        assert image.name == image.name.lower()
        assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}", image.tag)  # OCI distribution specification, tags
        assert image.tag != "latest"
        assert re.fullmatch(r"(sha256:[0-9a-f]{64})?", image.digest)
    for key, default in chart.mirror:
        assert look_up(KNOWN[name], tuple(key.split("."))) == default
        assert any(image.name.startswith(default.rstrip("/")) for image in chart.images), f"{key} is of no image"
    for image in chart.images:
        assert any(image.name.startswith(default) for _, default in chart.mirror) or name == "network-operator"


@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.parametrize("cni", CNI)
def test_every_image_that_runs_is_listed_once(example, cni):
    plan = alter(example, cni)
    ((_, data),) = render_images(plan)
    lines = data.decode().splitlines()
    assert lines == sorted(set(lines))
    listed = {image.reference for chart in list_charts(plan) for image in chart.images if image.rdma != "shared"}
    assert set(lines) == listed
    assert any("/cilium:" in line for line in lines) == (cni == "cilium")
    assert any("/calico/node:" in line for line in lines) == (cni == "calico")


@pytest.mark.parametrize("cni", CNI)
def test_with_a_registry_nothing_comes_from_elsewhere(cni):
    """What values and the policy name is where the list has each image copied to."""
    plan = alter("superpod-roce", cni, registry=REGISTRY)
    ((_, data),) = render_images(plan)
    copies = dict(line.split(" ") for line in data.decode().splitlines())
    for source, copy_of in copies.items():
        assert copy_of == f"{REGISTRY}/{source.partition('@')[0]}"
    named = [value for said in read_values(plan).values() for _, value in list_leaves(said) if REGISTRY in str(value)]
    ((_, policy),) = render_policy(plan)
    parts = yaml.safe_load(policy)["spec"]
    images = [*parts["secondaryNetwork"].values(), parts["nvIpam"], parts["sriovDevicePlugin"]]
    assert {f"{part['repository']}/{part['image']}:{part['version']}" for part in images} <= set(copies.values())
    for copy_of in copies.values():
        assert any(copy_of.startswith(value) for value in named) or "/mellanox/" in copy_of, copy_of


def test_a_plan_without_rails_has_no_network_operator():
    plan = alter("superpod-roce")
    bare = replace(plan, kubernetes=replace(plan.kubernetes, rdma="none", rails=()))
    assert list(render_policy(bare)) == []
    assert "network-operator" not in read_values(bare)
    assert "cni" not in read_values(bare)["cilium"]
    assert not any("mellanox" in line for line in dict(render_images(bare))["kubernetes/images.txt"].decode().splitlines())


def test_the_page_installs_what_the_lock_says():
    page = Path(__file__, "../../../docs/kubernetes.md").resolve().read_text("utf-8")
    found = re.findall(r"\$ helm install \S+ (\S+) --repo (\S+) --version (\S+)", page)
    wanted = (chart.name for example in ("superpod-roce", "driving") for chart in list_charts(alter(example)))
    assert [name for name, _, _ in found] == list(dict.fromkeys(wanted))
    charts = read_charts()
    assert found == [(name, charts[name].repository, charts[name].version) for name, _, _ in found]

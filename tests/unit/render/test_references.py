"""Only what a template wrote is a reference: data that reads like one stops the render, and the manifest says who wrote which."""

import dataclasses
import json

import pytest
from test_tree import make_plan

from cluster_model.references import SECRET, ForgedReferenceError, name_image_sum, name_secret, settle
from cluster_model.render.manifest import MANIFEST, build_manifest
from cluster_model.render.tree import DataError, render_tree
from cluster_model.render.write import write_tree

FORGED = "{{gpuyard-secret:bmc-password}}"


@pytest.fixture(scope="module")
def lab():
    return make_plan("lab")


def change(plan, **more):
    return dataclasses.replace(plan, servers=(dataclasses.replace(plan.servers[0], **more), *plan.servers[1:]))


@pytest.mark.parametrize("family", ["boot", "plan", "inventory", "page"])
def test_a_serial_number_that_reads_like_a_secret_is_not_rendered(family):
    plan, catalogue = make_plan("lab")  # a plan of its own: copies share its indexes
    with pytest.raises(DataError) as caught:
        render_tree(change(plan, serial=FORGED), catalogue, {family})
    finding = caught.value.finding
    assert finding.id == "RND002" and family_name(family) in finding.summary and finding.actual.startswith(FORGED[:-2])


def family_name(family):
    return {"page": "index.html", "plan": "plan.json"}.get(family, f"{family}/")


def test_what_a_rendered_file_says_elsewhere_helps_nobody_to_forge(lab):
    """The mark is not in the tree, so what a device has read there is no reference either."""
    plan, catalogue = lab
    files = render_tree(plan, catalogue, {"boot", "switches"})
    mark = name_secret("x").split("-")[1]
    assert len(mark) == 32 and not any(mark.encode() in content for content in files.values())


def test_parts_that_a_template_joins_are_found():
    with pytest.raises(ForgedReferenceError):
        settle(b"name " + b"{{gpuyard-sec" + b"ret:bmc-password}}")
    with pytest.raises(ForgedReferenceError):
        settle(b'"{{gpuyard-image:os}}"')
    with pytest.raises(ForgedReferenceError):
        settle(name_secret("good").encode() + FORGED.encode())


def test_what_templates_write_reads_as_ever_and_is_listed():
    text = f"{name_secret('b')} {name_secret('a')} {name_secret('a')} {name_image_sum('os')} {{{{ other }}}}"
    content, names = settle(text.encode())
    assert content == b"{{gpuyard-secret:b}} {{gpuyard-secret:a}} {{gpuyard-secret:a}} {{gpuyard-image:os}} {{ other }}"
    assert names == ("image:os", "secret:a", "secret:b")


def test_the_manifest_lists_what_each_file_refers_to(lab):
    plan, catalogue = lab
    files = render_tree(plan, catalogue)
    listed = json.loads(files[MANIFEST])["references"]
    assert listed["boot/hosts/gpu-001.json"] == ["image:ubuntu-noble", "secret:boot-token-gpu-001", "secret:ops-password"]
    assert listed["boot/ipxe/hosts/gpu-001.ipxe"] == ["secret:boot-token-gpu-001"]
    assert listed["switches/compute-leaf-u01-01/chpasswd"] == ["secret:switch-admin"]
    assert "boot/ztp/sonic.sh" not in listed  # any address of a switch is given it
    for path, content in files.items():
        text = content.decode(errors="replace")
        if path != MANIFEST:
            found = {f"secret:{name}" for name in SECRET.findall(text)}
            assert found == {name for name in listed.get(path, ()) if name.startswith("secret:")}, path


def test_a_partial_render_keeps_the_list_of_the_others(tmp_path):
    def tree(**references):
        files = dict.fromkeys(references, b"x")
        return {**files, MANIFEST: build_manifest("c", "1", "d", files, references)}

    first = tree(**{"boot/a": ["secret:a"], "switches/s/b": ["secret:b"]})
    write_tree(tmp_path / "t", first, "d")
    write_tree(tmp_path / "t", tree(**{"boot/c": ["secret:c"]}), "d", {"boot"})
    found = json.loads((tmp_path / "t" / MANIFEST).read_bytes())
    assert found["references"] == {"boot/c": ["secret:c"], "switches/s/b": ["secret:b"]}

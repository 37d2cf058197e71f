"""Files under boot/ and dns/, each judged by the program that reads it; and each judge by errors that it must see.

Missing programs skip, and fail where GPUYARD_REQUIRE_BOOT is set: kea-dhcp4, bind9-utils, cloud-init. GPUYARD_SUBIQUITY_SCHEMA
may name the installer's own autoinstall-schema.json (AGPL-3.0, so it is no part of this repository); our own is stricter and
always judges.
"""

from __future__ import annotations

import copy
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import jsonschema
import pytest
import yaml
from boot_trees import NAMES, tree_of
from cloud_init import find_cloud_init

from tests.each import check_each
from tests.slowness import stretch

SCHEMA = json.loads(Path(__file__).with_name("autoinstall.schema.json").read_text())
SECRET = re.compile(r"\{\{gpuyard-(?:secret|image):([a-z0-9-]+)\}\}")
PLACE = "/etc/bind/gpuyard/"


def require(program):
    found = shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if found is None:
        (pytest.fail if os.environ.get("GPUYARD_REQUIRE_BOOT") else pytest.skip)(f"{program} is not installed")
    return found


def ask(*command, cwd=None, env=None):
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, env=env, timeout=stretch(600))
    return done.returncode == 0, done.stdout + done.stderr


def list_cases(pattern):
    """Return the tree and path of every file of that form; asked inside a test, so that only who runs it renders them."""
    return [(name, path) for name in NAMES for path in tree_of(name) if re.fullmatch(pattern, path)]


# Kea


def judge_kea(text, tmp_path):
    file = tmp_path / "kea.conf"
    file.write_text(text)
    return ask(require("kea-dhcp4"), "-t", str(file))


def test_kea_takes_every_configuration(tmp_path):
    def check(case):
        name, path = case
        good, said = judge_kea(tree_of(name)[path].decode(), tmp_path)
        assert good, said
        assert " WARN " not in said and " ERROR " not in said

    check_each(check, list_cases(r"boot/kea/.*"))


def spoil(change):
    body = json.loads(tree_of("lab")["boot/kea/kea-dhcp4.conf"])
    change(body["Dhcp4"])
    return json.dumps(body)


def _repeat_id(dhcp):
    dhcp["subnet4"][1]["id"] = dhcp["subnet4"][0]["id"]


def _wrong_mac(dhcp):
    dhcp["subnet4"][0]["reservations"][0]["hw-address"] = "02:00:5e:00:00:zz"


def _same_address(dhcp):
    first, second = dhcp["subnet4"][0]["reservations"][:2]
    second["ip-address"] = first["ip-address"]


def _pool_outside(dhcp):
    dhcp["subnet4"][0]["pools"][0]["pool"] = "10.99.0.1 - 10.99.0.9"


def _bad_test(dhcp):
    dhcp["client-classes"][0]["test"] = "option[77].hexx == 'iPXE'"


def _unknown_option(dhcp):
    dhcp["option-data"][0]["name"] = "domain-nam"


def _unknown_key(dhcp):
    dhcp["match-client"] = False


@pytest.mark.parametrize(
    "change", [_repeat_id, _wrong_mac, _same_address, _pool_outside, _bad_test, _unknown_option, _unknown_key]
)
def test_kea_sees_errors(change, tmp_path):
    good, said = judge_kea(spoil(change), tmp_path)
    assert not good, said


# BIND


def test_named_takes_each_zone(tmp_path):
    def check(case):
        name, path = case
        good, said = judge_zone(path, tree_of(name)[path].decode(), tmp_path)
        assert good, said

    check_each(check, list_cases(r"dns/.*\.zone"))


def judge_zone(path, text, tmp_path):
    zone = Path(path).name.removesuffix(".zone")
    file = tmp_path / "zone"
    file.write_text(text)
    return ask(require("named-checkzone"), "-i", "local", "-k", "fail", "-M", "fail", "-n", "fail", "-r", "fail", zone, str(file))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (r"^gpu-001 IN A \S+", "gpu-001 IN A 10.76.0.256"),
        (r"^gpu-001 IN A", "gpu_001 IN A"),
        (r"^@ IN NS .*\n", ""),
        (r"^gpu-001 IN A", "boot IN CNAME gpu-002\ngpu-001 IN A"),
        (r"^control-001 IN A .*\n", ""),  # a name server without an address
    ],
)
def test_named_sees_errors_in_zones(old, new, tmp_path):
    path = "dns/lab.example.net.zone"
    text = tree_of("lab")[path].decode()
    spoilt = re.sub(old, new, text, flags=re.MULTILINE)
    assert spoilt != text
    good, said = judge_zone(path, spoilt, tmp_path)
    assert not good, said


def write_named(tree, tmp_path):
    folder = tmp_path / "gpuyard"
    folder.mkdir()
    for path, data in tree.items():
        if path.startswith("dns/"):
            text = data.decode().replace(PLACE, f"{folder}/").replace("/var/cache/bind", str(tmp_path))
            (folder / Path(path).name).write_text(text)
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_named_takes_its_configuration_with_all_zones(name, tmp_path):
    tree = tree_of(name)
    folder = write_named(tree, tmp_path)
    good, said = ask(require("named-checkconf"), "-z", str(folder / "named.conf"))
    assert good, said
    zones = [path for path in tree if path.endswith(".zone")]
    assert said.count("loaded serial") == len(zones) > 1


def test_named_sees_errors_in_its_configuration(tmp_path):
    folder = write_named(tree_of("lab"), tmp_path)
    file = folder / "zones.conf"
    whole = file.read_text()
    for spoilt in (
        whole.replace("};", "}", 1),
        whole.replace("type primary", "type primery", 1),
        whole.replace(".zone", ".zon", 1),
    ):
        file.write_text(spoilt)
        assert not ask(require("named-checkconf"), "-z", str(folder / "named.conf"))[0]


# Ubuntu's installer and cloud-init


def list_seeds():
    return list_cases(r"boot/autoinstall/(gpu-001|storage-00[12]|control-001)/user-data")


def fill(text):
    """Put values in place of references, as the boot server does."""
    return SECRET.sub("0123456789abcdef", text)


def read_seed(name, path):
    text = fill(tree_of(name)[path].decode())
    assert text.startswith("#cloud-config\n")
    body = yaml.safe_load(text)
    assert list(body) == ["autoinstall"]
    return body["autoinstall"]


def test_autoinstall_follows_our_schema():
    check_each(lambda case: jsonschema.validate(read_seed(*case), SCHEMA), list_seeds())


def test_autoinstall_follows_the_installers_schema():
    file = os.environ.get("GPUYARD_SUBIQUITY_SCHEMA")
    if not file:
        pytest.skip("GPUYARD_SUBIQUITY_SCHEMA names no autoinstall-schema.json")
    schema = json.loads(Path(file).read_text())
    check_each(lambda case: jsonschema.validate(read_seed(*case), schema), list_seeds())


SPOIL = {
    "unknown key": lambda seed: seed.update(storag={}),  # codespell:ignore
    "another version": lambda seed: seed.update(version=2),
    "version in quotes": lambda seed: seed.update(version="1"),
    "disk by device name": lambda seed: seed["storage"]["config"][0].update(path="/dev/sda"),
    "match by device name": lambda seed: seed["storage"]["config"][0].update(match={"path": "/dev/sda"}),
    "passwords over SSH": lambda seed: seed["ssh"].update({"allow-pw": True}),
    "fallback that is none": lambda seed: seed["apt"].update(fallback="offline"),
    "unknown action": lambda seed: seed["storage"]["config"][0].update(type="disc"),
    "no late commands": lambda seed: seed.pop("late-commands"),
    "MAC in capitals": lambda seed: next(iter(seed["network"]["ethernets"].values()))["match"].update(
        macaddress="02:00:5E:00:00:01"
    ),
}


@pytest.mark.parametrize("label", SPOIL)
def test_our_schema_sees_errors(label):
    seed = copy.deepcopy(read_seed("installers", "boot/autoinstall/storage-001/user-data"))
    SPOIL[label](seed)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(seed, SCHEMA)


def judge_cloud_config(text, tmp_path):
    file = tmp_path / "user-data"
    file.write_text(text)
    found = find_cloud_init()
    if found is None:
        (pytest.fail if os.environ.get("GPUYARD_REQUIRE_BOOT") else pytest.skip)("cloud-init can neither be found nor fetched")
    command, environment = found
    return ask(*command, "schema", "--config-file", str(file), env=environment)


def inner(name, path):
    """Return what the installed system's cloud-init is given."""
    return "#cloud-config\n" + yaml.safe_dump(read_seed(name, path)["user-data"])


@pytest.mark.usefixtures("machine_tier")  # the network: cloud-init is fetched
def test_cloud_init_takes_the_accounts(tmp_path):
    def check(case):
        good, said = judge_cloud_config(inner(*case), tmp_path)
        assert good and "Valid" in said, said

    check_each(check, list_seeds()[:6])


@pytest.mark.usefixtures("machine_tier")  # the network: cloud-init is fetched
def test_cloud_init_takes_the_seed(tmp_path):
    """It leaves what stands under autoinstall to the installer."""

    def check(case):
        name, path = case
        good, said = judge_cloud_config(fill(tree_of(name)[path].decode()), tmp_path)
        assert good, said
        vendor = tree_of(name)[path.replace("user-data", "vendor-data")].decode()
        assert judge_cloud_config(vendor, tmp_path)[0]

    check_each(check, list_seeds()[:2])


@pytest.mark.usefixtures("machine_tier")  # the network: cloud-init is fetched
def test_cloud_init_sees_errors(tmp_path):
    text = inner(*list_seeds()[0])
    for old, new in (
        ("ssh_pwauth: false", "ssh_pwauth: 7"),
        ("users:", "usrs: 1\nusers: {a: 1}\nhostname: [1]\nruncmd:"),
        ("  name: ", "  nam: "),  # codespell:ignore
    ):
        spoilt = text.replace(old, new, 1)
        assert spoilt != text
        assert not judge_cloud_config(spoilt, tmp_path)[0], new


# Storage of the installer: what no schema says


def test_storage_actions_build_on_each_other():
    check_each(lambda case: check_storage(read_seed(*case)["storage"]["config"]), list_seeds())


def check_storage(actions):
    known = {}
    for action in actions:
        for key in ("device", "volume"):
            assert action.get(key) is None or action[key] in known
        assert all(device in known for device in action.get("devices", ()))
        assert action["id"] not in known
        known[action["id"]] = action
    mounts = {action["path"]: action for action in known.values() if action["type"] == "mount"}
    efi = [a for a in known.values() if a.get("flag") == "boot"]
    bios = [a for a in known.values() if a.get("flag") == "bios_grub"]
    disks = [a for a in known.values() if a["type"] == "disk"]
    assert "/" in mounts
    if efi:  # else "the autoinstall config did not create needed bootloader partition"
        assert "/boot/efi" in mounts and all(part["grub_device"] for part in efi) and len(efi) == len(disks) and not bios
        assert not any(disk["grub_device"] for disk in disks)
    else:
        assert len(bios) == len(disks) and all(disk["grub_device"] for disk in disks)
    assert ("mirror-root" in known) == (len(disks) == 2)
    for disk in disks:  # only the last partition of a disk takes the rest
        sizes = [a["size"] for a in known.values() if a["type"] == "partition" and a["device"] == disk["id"]]
        assert -1 not in sizes[:-1]
    assert "/dev/" not in json.dumps(list(known.values()))

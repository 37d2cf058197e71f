"""The program of role container_toolkit: what it reads of the host; its scenario runs it on containerd itself."""

import json
import tomllib
from pathlib import Path

import pytest

from tests.programs import load_program

program = load_program(Path(__file__).parents[3] / "roles/container_toolkit/files/toolkit.py")

# As `containerd config dump` of containerd 1.6 and 2.0 print it.
DUMPS = {
    "1.6": """version = 2
[plugins]

  [plugins."io.containerd.grpc.v1.cri"]
    sandbox_image = "registry.k8s.io/pause:3.6"

    [plugins."io.containerd.grpc.v1.cri".containerd]
      default_runtime_name = "runc"

      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes]

        [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia]
          runtime_type = "io.containerd.runc.v2"

          [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia.options]
            BinaryName = "/usr/bin/nvidia-container-runtime"
""",
    "2.0": """version = 3
[plugins]
  [plugins.'io.containerd.cri.v1.runtime']
    enable_cdi = true
    [plugins.'io.containerd.cri.v1.runtime'.containerd]
      default_runtime_name = 'runc'
      [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.nvidia]
        runtime_type = 'io.containerd.runc.v2'
        [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.nvidia.options]
          BinaryName = '/usr/bin/nvidia-container-runtime'
""",
}


@pytest.mark.parametrize(("version", "cdi"), [("1.6", ""), ("2.0", "true")])
def test_what_containerd_prints_is_read(version, cdi):
    values = program.read_dump(DUMPS[version])
    assert program.find(values, ".runtimes.nvidia.options.BinaryName") == "/usr/bin/nvidia-container-runtime"
    assert program.find(values, ".containerd.default_runtime_name") == "runc"
    assert program.find(values, ".enable_cdi") == cdi
    assert program.find(values, ".runtimes.runc.runtime_type") == "", "the CRI plugin would not start"


@pytest.mark.parametrize(
    ("text", "imports"),
    [
        ("version = 2\n", []),
        ('imports = ["/etc/containerd/conf.d/*.toml"]\n', ["/etc/containerd/conf.d/*.toml"]),
        ("version = 2\nimports = [\n  '/a/*.toml',\n  \"/b.toml\",\n]\n[plugins]\n", ["/a/*.toml", "/b.toml"]),
        ('# imports = ["/not.toml"]\n', []),
    ],
)
def test_imports_are_read(text, imports):
    assert program.read_imports(text) == imports


@pytest.mark.parametrize(
    ("text", "without"),
    [
        (None, False),
        ("version = 2\n", False),
        ('disabled_plugins = ["cri"]\n', True),
        ("disabled_plugins = ['a', 'io.containerd.grpc.v1.cri']\n", True),
        ("disabled_plugins = ['io.containerd.other.cri']\n", False),
        ('#disabled_plugins = ["cri"]\n', False),
        ("disabled_plugins = []\n", False),
    ],
)
def test_whether_kubernetes_part_is_left_out(text, without, tmp_path, monkeypatch):
    """As the config.toml of containerd.io has it."""
    monkeypatch.setattr(program, "CONFIG", tmp_path / "config.toml")
    monkeypatch.setenv("PATH", str(tmp_path))  # no containerd
    if text is not None:
        program.CONFIG.write_text(text)
    assert program.look_at_containerd(differs=True)["without_cri"] is without


def test_other_imports_stay_while_the_drop_in_file_is_made(tmp_path, monkeypatch):
    monkeypatch.setattr(program, "CONFIG", tmp_path / "config.toml")
    monkeypatch.setattr(program, "DROP_IN", tmp_path / "conf.d/99-nvidia.toml")
    (tmp_path / "conf.d").mkdir()
    for name in ("50-mirror.toml", "99-nvidia.toml"):
        (tmp_path / "conf.d" / name).write_text("version = 2\n")
    program.CONFIG.write_text(f'version = 2\nimports = [\n  "{tmp_path}/conf.d/*.toml",\n]\n')
    containerd = tmp_path / "bin/containerd"
    containerd.parent.mkdir()
    containerd.write_text('#!/bin/sh\ntest "$1 $3 $4" = "--config config dump" && cat "$2"\n')  # double: prints what it was given
    containerd.chmod(0o755)
    monkeypatch.setenv("PATH", str(containerd.parent), prepend=":")
    text = program.dump_without(tmp_path).read_text()
    assert text == f'version = 2\nimports = ["{tmp_path}/conf.d/50-mirror.toml"]\n'


# As `containerd config dump` of containerd 2.3 prints it, of which config.toml of an older version is a part.
DUMP_4 = """version = 4
imports = ['/etc/containerd/conf.d/*.toml']
[plugins]
  [plugins.'io.containerd.cri.v1.images']
    snapshotter = 'overlayfs'
  [plugins.'io.containerd.cri.v1.runtime']
    enable_cdi = true
    [plugins.'io.containerd.cri.v1.runtime'.containerd]
      default_runtime_name = 'runc'
      [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
        runtime_type = 'io.containerd.runc.v2'
    [plugins.'io.containerd.cri.v1.runtime'.cni]
      bin_dir = ''
      bin_dirs = ['/opt/cni/bin']
      conf_dir = '/etc/cni/net.d'
  [plugins.'io.containerd.grpc.v1.cri']
    disable_tcp_service = true
  [plugins.'io.containerd.server.v1.grpc']
    address = '/run/containerd/containerd.sock'
"""


@pytest.mark.parametrize(("config", "version"), [("imports = []\n", 3), ("version = 3\n", 3), ("version = 4\n", 3)])
def test_a_dump_is_of_no_newer_version_than_other_files(config, version):
    found = tomllib.loads(program.lower(DUMP_4, program.VERSION.search(config)))
    assert found == tomllib.loads(DUMP_4) | {"version": version}


def test_a_dump_is_of_config_tomls_version_2():
    found = tomllib.loads(program.lower(DUMP_4, program.VERSION.search("version = 2\n")))
    asked = tomllib.loads(DUMP_4)["plugins"]["io.containerd.cri.v1.runtime"]
    assert found["version"] == 2
    assert found["plugins"]["io.containerd.grpc.v1.cri"] == asked | {"cni": {"conf_dir": "/etc/cni/net.d"}}
    assert "io.containerd.cri.v1.runtime" not in found["plugins"]


def test_what_containerd_1_prints_stays():
    assert program.lower(DUMPS["1.6"], program.VERSION.search("version = 2\n")) == DUMPS["1.6"]


@pytest.mark.parametrize(
    ("text", "family"),
    [
        ('PRETTY_NAME="Debian GNU/Linux 12"\nID=debian\n', "debian"),
        ("ID=ubuntu\nID_LIKE=debian\n", "debian"),
        ('ID="rocky"\nID_LIKE="rhel centos fedora"\n', "redhat"),
        ("ID=fedora\n", "redhat"),
        ('ID="opensuse-leap"\nID_LIKE="suse opensuse"\n', "opensuse-leap"),
    ],
)
def test_family_is_read(text, family):
    assert program.read_family(text) == family


def put_programs(folder, monkeypatch, **scripts):
    """Put doubles of programs alone on the path, with a shell beside them."""
    for name, body in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{body}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


def test_packages_of_rpm_are_read_with_their_locks(tmp_path, monkeypatch):
    said = "libnvidia-container1 1.18.1-1\npackage libnvidia-container-tools is not installed\nnvidia-container-toolkit 1.17.0-1"
    locks = "nvidia-container-toolkit-base-0:1.18.1-1.*\nlibnvidia-container1-0:1.18.1-1.*"
    put_programs(tmp_path, monkeypatch, rpm=f"echo '{said}'; exit 1", dnf=f"echo '{locks}'")
    assert program.list_packages(["libnvidia-container1", "libnvidia-container-tools", "nvidia-container-toolkit"]) == [
        ["libnvidia-container1", "1.18.1-1", "hi"],
        ["nvidia-container-toolkit", "1.17.0-1", "ii"],
    ]


def test_packages_of_dpkg_are_read_with_their_holds(tmp_path, monkeypatch):
    said = "libnvidia-container1 1.18.1-1 hi \nnvidia-container-toolkit 1.17.0-1 ii \nnvidia-container-toolkit-base  un "
    put_programs(tmp_path, monkeypatch, **{"dpkg-query": f"echo '{said}'"})
    assert program.list_packages(["libnvidia-container1"]) == [
        ["libnvidia-container1", "1.18.1-1", "hi"],
        ["nvidia-container-toolkit", "1.17.0-1", "ii"],
    ]


# As nvidia-ctk 1.18.1 writes it, with an administrator's lines.
RUNTIME = """# Ours.
#accept-nvidia-visible-devices-as-volume-mounts = false
#accept-nvidia-visible-devices-envvar-when-unprivileged = true
disable-require = false

[nvidia-container-runtime]
# accept-nvidia-visible-devices-envvar-when-unprivileged is not said here.
mode = "auto"
runtimes = ["runc", "crun"]
"""
KEPT = {"disable-require": False, "nvidia-container-runtime": {"mode": "auto", "runtimes": ["runc", "crun"]}}
CLOSED = {program.ENV: False, program.MOUNTS: True}
OPEN = {program.ENV: True, program.MOUNTS: False}


@pytest.fixture
def runtime(tmp_path, monkeypatch):
    monkeypatch.setattr(program, "RUNTIME", tmp_path / "config.toml")
    return program.RUNTIME


@pytest.mark.parametrize(
    "text",
    [
        RUNTIME,
        RUNTIME.replace("#accept", "accept"),
        RUNTIME.replace("#accept", f"{program.ENV} = true # for a week\naccept", 1),
        RUNTIME.replace(f"#{program.ENV}", f'"{program.ENV}"'),
        RUNTIME.replace("#accept", "# accept").replace("\n\n", "\n"),
        "".join(line for line in RUNTIME.splitlines(keepends=True) if not line.startswith("#accept")),
    ],
)
def test_two_keys_of_the_runtime_change_and_nothing_else(runtime, text):
    runtime.write_text(text)
    closed = program.want_runtime_config(unprivileged_env=False)
    assert tomllib.loads(closed) == CLOSED | KEPT
    changed = set(closed.splitlines()) ^ set(text.splitlines())
    assert all("accept-nvidia-visible-devices-" in line for line in changed)
    assert "# Ours." in closed
    runtime.write_text(closed)
    assert program.want_runtime_config(unprivileged_env=False) is None, "a second run changes nothing"
    opened = program.want_runtime_config(unprivileged_env=True)
    assert tomllib.loads(opened) == OPEN | KEPT
    runtime.write_text(opened)
    assert program.want_runtime_config(unprivileged_env=True) is None


def test_a_comment_behind_a_value_stays(runtime):
    runtime.write_text(f"{program.ENV} = true # for a week\n{program.MOUNTS} = true\n")
    assert program.want_runtime_config(unprivileged_env=False).splitlines()[0] == f"{program.ENV} = false # for a week"


@pytest.mark.parametrize("text", [None, "", "[nvidia-container-runtime]\n"])
def test_a_file_that_is_not_there_or_was_cut_short_accepts_all(runtime, text):
    if text is not None:
        runtime.write_text(text)
    assert program.want_runtime_config(unprivileged_env=True) is None
    assert CLOSED.items() <= tomllib.loads(program.want_runtime_config(unprivileged_env=False)).items()


def test_only_nvidia_ctks_own_options_are_handed_to_it(runtime, monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(program, "would_differ", asked.append)
    monkeypatch.setattr(program, "list_packages", asked.append)
    monkeypatch.setattr(program, "look_at_containerd", lambda differs: {})
    runtime.write_text(RUNTIME)
    for words in (["--cdi.enabled", "libnvidia-container1", "--unprivileged-env"], ["libnvidia-container1"]):
        program.main("look", *words)
    assert asked == [["--cdi.enabled"], ["libnvidia-container1"], [], ["libnvidia-container1"]]
    opened, closed = (json.loads(line)["runtime_config"] for line in capsys.readouterr().out.splitlines())
    assert opened is None
    assert f"{program.ENV} = false" in closed

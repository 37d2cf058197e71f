"""The program of role container_toolkit: what it reads of the host; its scenario runs it on containerd itself."""

import importlib.util
from pathlib import Path

import pytest

SPEC = importlib.util.spec_from_file_location(
    "container_toolkit_program", Path(__file__).parents[3] / "roles/container_toolkit/files/toolkit.py"
)
program = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(program)

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

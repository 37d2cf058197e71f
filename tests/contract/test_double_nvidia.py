"""The double of nvidia-smi and of the kernel module prints what is recorded from an H200 in the same form."""

import json
import re
import subprocess
import sys

import pytest
from recorded_smi import ROOT, Said, said, smi_arguments

DOUBLES = ROOT / "tests/roles/repository/packages"
VERSION = "580.159.04"
SHAPES = {
    r"GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}": "UUID",
    r"\b[0-9A-F]{8}:[0-9A-F]{2}:[0-9A-F]{2}\.[0-7]\b": "BUS",
    r"\b16[0-9]{11}\b": "SERIAL",
    r"\b580\.159(\.04)?\b": "VERSION",
    r"\b[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9][0-9] [0-9:]{8} [0-9]{4}\b": "DATE",
    r" *\b[0-9]+(\.[0-9]+)?(?=( W| MiB| %| sec|W|C|MiB|%))": " N",
    r"(?<= %, )[0-9]+": "N",  # a temperature, which has no unit
    r"(?<=Number of Samples {34}: )[0-9]+": "N",
}
"""What may differ between two GPUs and two moments; all else is form."""


def shape(text):
    """Return the form of what was printed, a line each."""
    for pattern, name in SHAPES.items():
        text = re.sub(pattern, name, text)
    return text.split("\n")


@pytest.fixture
def ask(tmp_path, monkeypatch):
    """Return a function that asks the double of one H200 with persistence mode, which a process may use."""
    for name in ("kept", "volatile", "share"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(f"GPUYARD_DOUBLE_{name.upper()}", str(tmp_path / name))
    (tmp_path / "share/nvidia-driver-cuda.version").write_text(f"{VERSION}\n")
    loaded = {"version": VERSION, "flavour": "open"}
    (tmp_path / "volatile/gpu.json").write_text(json.dumps({"loaded": loaded, "nodes": True}))
    monkeypatch.setenv("PYTHONPATH", str(DOUBLES / "gpuyard-double-gpu"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")  # no nvidia-modprobe, which would make device files

    def run(*words):
        return subprocess.run([sys.executable, "-S", *words], capture_output=True, text=True, check=False)

    def ask(*arguments, process=()):
        control = DOUBLES / "gpuyard-double-gpu/gpuyard-double-gpu"
        for words in (("gpus", "h200-sxm", "1"), ("process", *process)):
            assert run(control, *words).returncode == 0
        smi = DOUBLES / "nvidia-driver-cuda/nvidia-smi"
        assert run(smi, "-pm", "1").returncode == 0
        done = run(smi, *arguments)
        return Said(done.stdout, done.stderr, done.returncode)

    return ask


BUSY = ("0", "--pid", "561", "--name", "python3")


@pytest.mark.parametrize(
    "name",
    [
        *("list", "version", "table", "q-power", "fields-survey", "fields-probe", "fields-power", "fields-units", "apps"),
        *("no-such-index", "no-such-bus", "no-such-field"),
    ],
)
def test_the_double_prints_the_same_form(ask, name):
    """Fields and their units, headings, columns, the stream, and the exit code."""
    double, real = ask(*smi_arguments(name)), said(name)
    assert shape(double.out) == shape(real.out)
    assert double[1:] == real[1:]


@pytest.mark.parametrize("name", ["table", "apps"])
def test_the_double_shows_a_process_in_the_same_form(ask, name):
    double, real = ask(*smi_arguments(name), process=BUSY), said(f"{name}-busy")
    assert shape(double.out) == shape(real.out)
    assert "561" in double.out


def test_the_table_is_as_wide(ask):
    """Numbers are set to the right in columns."""
    for process, name in (((), "table"), (BUSY, "table-busy")):
        widths = [[len(line) for line in text.splitlines()] for text in (ask(process=process).out, said(name).out)]
        assert widths[0] == widths[1]


@pytest.mark.parametrize(("process", "name"), [((), "q"), (BUSY, "q-busy")])
def test_every_line_of_the_double_is_in_the_real_q_in_this_order(ask, process, name):
    """The double leaves out sections that nobody reads. What it prints has the real one's words, indent and column."""
    double, real = ask("-q", process=process), said(name)
    rest = iter(shape(real.out))
    assert [line for line in shape(double.out) if line not in rest] == []
    assert double[1:] == real[1:]


def test_the_double_has_the_sections_that_a_careless_reader_would_mistake(ask):
    """Limits of a module that has none, a GUID with Fabric in its name, a recovery in progress."""
    out = ask("-q").out
    for line in ("Module Power Readings", "GPU Fabric GUID", "Route Recovery in progress"):
        assert line in out
    assert shape(out).count(shape(f"        {'Max Power Limit':47}: N/A")[0]) == 1


def test_the_double_shows_the_topology_in_the_same_form(ask):
    """The double's server has a NIC beside each GPU; the recorded machine had none."""
    (heading, gpu, *rest), real = ask("topo", "-m").out.splitlines(), said("topology").out.splitlines()
    assert heading.replace("\tNIC0", "") == real[0]
    assert re.sub("[0-9]+-[0-9]+", "CPUS", gpu.replace("\tPXB", "", 1)) == re.sub("[0-9]+-[0-9]+", "CPUS", real[1])
    assert rest[1 : 1 + len(real[2:])] == real[2:]


def test_the_double_knows_no_field_that_the_driver_does_not(ask):
    source = (DOUBLES / "nvidia-driver-cuda/nvidia-smi").read_text()
    body = source.partition("def read_fields(")[2].partition("\ndef ")[0]
    fields = re.findall(r'^        "([a-z_.]+)":', body, re.MULTILINE)
    known = {word.strip('"') for line in said("field-names").out.splitlines() for word in line.split(" or ")}
    assert "pcie.link.width.max" in fields
    assert [field for field in fields if field not in known] == []
    assert ask(f"--query-gpu={','.join(fields)}", "--format=csv").code == 0


def test_the_double_of_the_module_says_its_version_in_the_same_form(ask):
    code = f"import gpuyard_double_gpu as d; print(d.describe_module({{'version': {VERSION!r}, 'flavour': 'open'}}), end='')"
    double = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert double.replace("(root@double)", "(root@gpu-001)") == said("module").out


def test_the_h200_of_the_double_is_the_recorded_one(ask):
    """Memory, limits, lanes and generation, not only their form."""
    for name, places in (("fields-power", slice(None)), ("fields-probe", slice(5, None))):
        double, real = (text.strip().split(", ") for text in (ask(*smi_arguments(name)).out, said(name).out))
        assert double[places] == real[places]
    memory = [said("fields-units").out, ask(*smi_arguments("fields-units")).out]
    assert len({text.splitlines()[1].split(", ")[1] for text in memory}) == 1

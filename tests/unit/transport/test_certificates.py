"""The file of BMCs' certificates: read as what it is, and refused where it is something else."""

from __future__ import annotations

import os

import pytest

from cluster_model.transport.bmc.certificates import read_certificate, remember_certificate
from cluster_model.transport.bmc.controller import BmcError


@pytest.fixture(autouse=True)
def known(tmp_path, monkeypatch):
    monkeypatch.setenv("GPUYARD_KNOWN_BMCS", str(tmp_path / "known_bmcs"))
    return tmp_path / "known_bmcs"


def test_the_last_certificate_of_a_place_counts():
    assert read_certificate("10.0.0.1:443") == ""
    remember_certificate("10.0.0.1:443", "aa")
    remember_certificate("10.0.0.2:443", "cc")
    remember_certificate("10.0.0.1:443", "bb")
    assert read_certificate("10.0.0.1:443") == "bb"


@pytest.mark.parametrize(("make", "word"), [(os.mkfifo, "a FIFO"), (lambda file: file.symlink_to("/dev/zero"), "a device")])
def test_what_would_never_end_is_refused_by_its_name(known, make, word):
    make(known)
    with pytest.raises(BmcError, match=rf"known_bmcs cannot be read: it is {word}, not a file; move it away") as refused:
        read_certificate("10.0.0.1:443")
    assert refused.value.cause == "certificate"


def test_what_is_no_text_is_refused(known):
    known.write_bytes(b"\xff\n")
    with pytest.raises(BmcError, match="it is not UTF-8"):
        read_certificate("10.0.0.1:443")

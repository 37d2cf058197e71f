"""How long ipmitool is told to wait for a BMC."""

import pytest

from cluster_model.transport.bmc import ipmi
from cluster_model.transport.bmc.controller import BmcError, BmcLogin, BmcTarget
from cluster_model.transport.program import Done

SILENT = Done(1, "", "Error: Unable to establish IPMI v2 / RMCP+ session")


@pytest.mark.parametrize(
    ("answer_s", "waits", "silence_s"),
    [(0.5, ("1", "1"), 2), (1.9, ("1", "1"), 2), (2, ("1", "2"), 6), (20, ("5", "2"), 22), (60, ("15", "2"), 62)],
)
def test_silence_costs_about_what_an_answer_may_take(monkeypatch, answer_s, waits, silence_s):
    asked = []

    def run(command, limit_s, **_):
        asked.append((command[command.index("-N") + 1], command[command.index("-R") + 1]))
        assert limit_s >= silence_s or limit_s > answer_s  # it ends by itself, and says why
        return SILENT

    monkeypatch.setattr(ipmi, "run_program", run)
    monkeypatch.setattr(ipmi, "answers_ipmi", lambda *_: False)
    with pytest.raises(BmcError) as failure:
        ipmi.open_ipmi(BmcTarget("n1", "192.0.2.1", "", ""), BmcLogin("admin", "secret", answer_s=answer_s, retries=0))
    assert (asked, failure.value.cause) == ([waits], "silent")
    seconds, sent = map(int, waits)
    assert 2 * sum(seconds + turn for turn in range(sent)) == silence_s

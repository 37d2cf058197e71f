"""Facts of servers that a group does not build yet: what the finding tells to do."""

from __future__ import annotations

import pytest
from small_plan import chain, facts, intent, small_design

from cluster_model.checks.facts import UnknownDevice
from cluster_model.intent.source.facts_csv import ServerFacts


@pytest.mark.parametrize(
    ("planned", "name", "fix"),
    [
        (4, "gpu-003", "delete the line, or raise count of gpu to 3"),
        (4, "gpu-005", "delete the line, or raise count and planned of gpu"),
        (None, "gpu-003", "delete the line, or raise count of gpu"),
        (4, "gpu-0003", "delete the line, or raise count of gpu to 3"),
        (4, "gpu-0O1", "did you mean gpu-001?"),
        (4, f"gpu-{'9' * 9000}", "correct the name or delete the line"),
    ],
)
def test_the_line_of_a_server_that_is_not_built_is_not_told_to_take_the_name_of_another(planned, name, fix):
    design = chain(intent("servers.gpu.planned", planned), facts(servers={name: ServerFacts(line=7)}))(small_design())
    (finding,) = UnknownDevice().find(design)
    assert finding.fix == fix

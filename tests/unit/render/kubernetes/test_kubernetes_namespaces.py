"""Namespaces that no tenant is called as."""

import re
from pathlib import Path

from cluster_model.plan.services.namespaces import NETWORK_OPERATOR, OF_CHARTS, PRIVILEGED, is_taken
from cluster_model.render.kubernetes.charts import read_charts

PAGE = Path(__file__, "../../../../../docs/kubernetes.md").resolve()


def test_each_chart_says_which_namespaces_it_has():
    assert set(OF_CHARTS) == set(read_charts())


def test_no_tenant_has_a_namespace_in_which_something_is_installed():
    installed = set(re.findall(r" -n ([a-z-]+)(?: \\?$| -f)", PAGE.read_text("utf-8"), re.MULTILINE))
    installed |= set(re.findall(r"^    -n ([a-z-]+) ", PAGE.read_text("utf-8"), re.MULTILINE))
    assert installed >= {"kube-system", "gpu-operator", NETWORK_OPERATOR, "volcano-system"}
    assert all(is_taken(name) for name in (*installed, *PRIVILEGED))

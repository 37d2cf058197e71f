"""`gpuyard validate`: the intent and the design rules, all findings at once."""

from __future__ import annotations

from pathlib import Path

import click

from cluster_model.cli.common import cluster_argument, finding_options, inspect_cluster, report_inspection
from cluster_model.cli.findings import Format


@click.command()
@cluster_argument
@finding_options
def command(cluster: Path, form: Format, strict: bool) -> None:
    """Check an intent and the design that follows from it.

    CLUSTER is a folder with cluster.yml, or the file. All findings of a stage are shown together; the next stage (intent,
    hardware, plan, design rules) runs when there are no errors. `gpuyard explain ID` is the manual of a finding.
    """
    report_inspection(inspect_cluster(cluster), form, strict)

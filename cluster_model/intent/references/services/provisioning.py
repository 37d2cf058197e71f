"""What `provisioning` names: server groups, and the servers that boot the others."""

from __future__ import annotations

from collections.abc import Iterator

from cluster_model.diagnostic import Diagnostic
from cluster_model.intent.model.cluster import Cluster
from cluster_model.intent.references.membership import Fault, expand
from cluster_model.intent.references.refusals import check_group, refuse
from cluster_model.intent.references.services import ServiceReferences
from cluster_model.intent.references.services.provisioning_keys import list_key_files, read_keys


def check_provisioning(cluster: Cluster) -> Iterator[Diagnostic]:
    """Yield every reference of `provisioning` that leads nowhere, as INT013 and INT026; not located."""
    provisioning = cluster.provisioning
    if provisioning is None:
        return
    if provisioning.servers is not None:
        found = expand(cluster, provisioning.servers)
        if isinstance(found, Fault):
            yield refuse("INT026", "provisioning.servers", found.text, found.expected, found.fix)
        elif (built := cluster.servers[found[0][0]].count) < found[0][1]:
            summary = f"{provisioning.servers} is not built yet, and boots the others"
            yield refuse("INT026", "provisioning.servers", summary, f"a server up to number {built}", "name one that is built")
    for name in provisioning.groups:
        yield from check_group(f"provisioning.groups.{name}@key", name, cluster.servers)


SERVICE = ServiceReferences(check_provisioning, list_key_files, read_keys)

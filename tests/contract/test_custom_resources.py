"""The rules of crds/ themselves: what is valid passes, and what breaks a rule is refused, with its message."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
import yaml

from tests.contract.custom_resources import CRDS, judge, list_rules

VALID = {
    found["kind"]: found
    for found in yaml.safe_load_all(
        """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: planning}
spec:
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: planning}}
  resourceGroups:
  - coveredResources: [cpu, nvidia.com/gpu]
    flavors:
    - {name: h100, resources: [{name: cpu, nominalQuota: 1P}, {name: nvidia.com/gpu, nominalQuota: '8'}]}
    - {name: b200, resources: [{name: cpu, nominalQuota: 1P}, {name: nvidia.com/gpu, nominalQuota: 8}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: gpus, namespace: planning}
spec: {clusterQueue: planning}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: h100}
spec: {nodeLabels: {gpuyard.io/gpu: h100}, topologyName: compute}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: compute}
spec: {levels: [{nodeLabel: gpuyard.io/compute-unit}, {nodeLabel: kubernetes.io/hostname}]}
---
apiVersion: topology.volcano.sh/v1alpha1
kind: HyperNode
metadata: {name: compute-u01}
spec: {tier: 1, members: [{type: Node, selector: {labelMatch: {matchLabels: {gpuyard.io/compute-unit: compute-u01}}}}]}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: planning}
spec: {weight: 1, reclaimable: true, capability: {nvidia.com/gpu: '8'}}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train, namespace: planning}
spec:
  queue: planning
  networkTopology: {mode: hard, highestTierAllowed: 1}
  plugins: {mpi: []}
  tasks:
  - {name: master, replicas: 1, policies: [{event: TaskCompleted, action: CompleteJob}], template: {spec: {}}}
  - {name: worker, replicas: 2, template: {metadata: {annotations: {a: b}}, spec: {}}}
---
apiVersion: nv-ipam.nvidia.com/v1alpha1
kind: CIDRPool
metadata: {name: rail1, namespace: nvidia-network-operator}
spec:
  cidr: 10.0.0.0/24
  perNodeNetworkPrefix: 31
  gatewayIndex: 0
  routes: [{dst: 10.0.0.0/24}]
  nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: gpuyard.io/group, operator: In, values: [train]}]}]}
  staticAllocations:
  - {nodeName: train-001, prefix: 10.0.0.0/31, gateway: 10.0.0.0}
  - {nodeName: train-002, prefix: 10.0.0.2/31, gateway: 10.0.0.2}
---
apiVersion: mellanox.com/v1alpha1
kind: NicClusterPolicy
metadata: {name: nic-cluster-policy}
spec:
  sriovDevicePlugin:
    image: sriov-network-device-plugin
    config: |
      {"resourceList": [{"resourcePrefix": "gpuyard.io", "resourceName": "rail_1", "selectors": [{"isRdma": true}]}]}
---
apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata: {name: rail1, namespace: default}
spec: {config: '{"type": "host-device"}'}
---
apiVersion: cilium.io/v2
kind: CiliumBGPAdvertisement
metadata: {name: pods, labels: {gpuyard.io/advertisement: pods}}
spec: {advertisements: [{advertisementType: PodCIDR}, {advertisementType: Interface, interface: {name: lo}}]}
---
apiVersion: cilium.io/v2
kind: CiliumBGPPeerConfig
metadata: {name: leafs}
spec:
  timers: {holdTimeSeconds: 9, keepAliveTimeSeconds: 3}
  gracefulRestart: {enabled: true}
  families: [{afi: ipv4, safi: unicast, advertisements: {matchLabels: {gpuyard.io/advertisement: pods}}}]
---
apiVersion: cilium.io/v2
kind: CiliumBGPClusterConfig
metadata: {name: train-001}
spec:
  nodeSelector: {matchLabels: {kubernetes.io/hostname: train-001}}
  bgpInstances:
  - name: leafs
    localASN: 64512
    peers:
    - {name: 'storage-leaf-01:swp1', peerASN: 4220000001, peerAddress: 10.72.0.0, peerConfigRef: {name: leafs}}
    - {name: 'storage-leaf-02:swp1', peerASN: 4220000002, peerAddress: 10.72.0.64, peerConfigRef: {name: leafs}}
---
apiVersion: crd.projectcalico.org/v1
kind: BGPConfiguration
metadata: {name: default}
spec: {asNumber: 64512, nodeToNodeMeshEnabled: false}
---
apiVersion: crd.projectcalico.org/v1
kind: BGPPeer
metadata: {name: train-001.10.72.0.0}
spec: {node: train-001, peerIP: 10.72.0.0, asNumber: 64513, sourceAddress: None}
---
apiVersion: crd.projectcalico.org/v1
kind: IPAMConfig
metadata: {name: default}
spec: {autoAllocateBlocks: true, strictAffinity: true}
---
apiVersion: crd.projectcalico.org/v1
kind: BGPFilter
metadata: {name: control}
spec: {exportV4: [{action: Accept, matchOperator: Equal, cidr: 10.72.143.255/32}]}
"""
    )
}
GROUP = "spec.resourceGroups.0"
FLAVORS = f"{GROUP}.flavors"
LEVELS = [{"nodeLabel": "kubernetes.io/hostname"}, {"nodeLabel": "gpuyard.io/compute-unit"}]
EXACT, SELECTOR = {"name": "compute-u01"}, "spec.members.0.selector"
INSTANCE = "spec.bgpInstances.0"
CPU, GPU = {"name": "cpu", "nominalQuota": 1}, {"name": "nvidia.com/gpu", "nominalQuota": 1}

REFUSED: list[tuple[str, str, Any, str]] = [
    ("ClusterQueue", f"{FLAVORS}.1.resources.1.borrowingLimit", 1, "borrowingLimit must be nil when cohort is empty"),
    (
        "ClusterQueue",
        "spec.flavorFungibility",
        {"preference": "BorrowingOverPreemption"},  # whenCanBorrow has another default
        "preference can only be set when both whenCanBorrow and whenCanPreempt are TryNextFlavor",
    ),
    (
        "ClusterQueue",
        "spec.preemption",
        {"borrowWithinCohort": {"policy": "LowerPriority"}},  # reclaimWithinCohort is Never by default
        "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never",
    ),
    ("ClusterQueue", f"{FLAVORS}.1.resources", [CPU], "flavors must have the same number of resources as the coveredResources"),
    ("ClusterQueue", f"{FLAVORS}.1.resources", [GPU, CPU], "must match the name in coveredResources"),
    ("ClusterQueue", f"{FLAVORS}.1.name", "h100", 'flavors[1]: Duplicate value: {"name": "h100"}'),
    ("ClusterQueue", f"{FLAVORS}.0.resources", [CPU, CPU], 'resources[1]: Duplicate value: {"name": "cpu"}'),
    ("ClusterQueue", f"{FLAVORS}.0.resources.0.nominalQuota", "-1", "does not match"),
    ("ClusterQueue", f"{FLAVORS}.0.resources.0.nominalQuota", -1, "less than the minimum"),
    ("ClusterQueue", f"{FLAVORS}.0.name", "H100", "does not match"),
    ("ClusterQueue", f"{GROUP}.coveredResources", ["cpu", "cpu"], "non-unique"),
    ("ClusterQueue", f"{GROUP}.coveredResources.1", "nvidia.com/", "does not match"),
    ("ClusterQueue", "spec.namespaceSelector.matchLabels.team", "a b", "does not match"),
    ("ClusterQueue", "metadata.name", "Planning", "name Planning"),
    ("LocalQueue", "spec.clusterQueue", "a" * 254, "is too long"),
    ("LocalQueue", "metadata.namespace", None, "metadata"),
    ("ResourceFlavor", "spec.nodeLabels", {}, "at least one nodeLabel is required when topology is set"),
    ("ResourceFlavor", "spec.nodeLabels", None, "at least one nodeLabel is required when topology is set"),
    ("ResourceFlavor", "spec.nodeLabels", {f"gpuyard.io/{n}": "a" for n in range(9)}, "has too many properties"),
    ("ResourceFlavor", "spec.nodeLabels", {"a/b/c": "d"}, "does not match"),
    ("Topology", "spec.levels", [{"nodeLabel": "gpuyard.io/rack"}] * 2, "must be unique"),
    ("Topology", "spec.levels", LEVELS, "the kubernetes.io/hostname label can only be used at the lowest level of topology"),
    ("Topology", "spec.levels", [{"nodeLabel": f"gpuyard.io/{n}"} for n in range(17)], "is too long"),
    ("HyperNode", SELECTOR, {}, "Either ExactMatch or RegexMatch or LabelMatch must be specified"),
    ("HyperNode", f"{SELECTOR}.exactMatch", EXACT, "Only one of ExactMatch, RegexMatch, or LabelMatch can be specified"),
    ("HyperNode", SELECTOR, {"exactMatch": {"name": ""}}, "should be non-empty"),
    ("HyperNode", "spec.members", [], "should be non-empty"),
    ("Queue", "spec.weight", 65536, "greater than the maximum"),
    ("Queue", "spec.capability", {"nvidia.com/gpu": "-8"}, "does not match"),
    ("Job", "spec.networkTopology.mode", "Hard", "'Hard' is not one of"),
    ("Job", "spec.networkTopology.highestTierAllowed", "1", "is not of type 'integer'"),
    ("Job", "spec.tasks", [], "should be non-empty"),
    ("Job", "spec.tasks.0.name", "main", "does not contain items matching the given schema"),
    ("Job", "spec.tasks.1.name", "master", 'Duplicate value: {"name": "master"}'),
    ("Job", "spec.tasks.0.policies.0.event", "PodRunning", "'PodRunning' is not one of"),
    ("Job", "spec.tasks.0.policies.0.action", "SyncJob", "'SyncJob' is not one of"),
    ("Job", "spec.plugins", {"mpi": None}, "is not of type 'array'"),
    ("Job", "spec.plugins", {"openmpi": []}, "'openmpi' is not one of"),
    ("CIDRPool", "spec.staticAllocations.1.nodeName", "train-001", 'Duplicate value: {"nodeName": "train-001"}'),
    ("CIDRPool", "spec.gatewayIndex", None, "'gatewayIndex' is a dependency of 'routes'"),
    ("NicClusterPolicy", "spec.sriovDevicePlugin.config", '{"resourceList": []}', "should be non-empty"),
    (
        "NicClusterPolicy",
        "spec.sriovDevicePlugin.config",
        '{"resourceList": [{"resourceName": "rail-1", "selectors": [{"isRdma": true}]}]}',
        "'rail-1' does not match",
    ),
    ("NetworkAttachmentDefinition", "spec.config", {"type": "host-device"}, "is not of type 'string'"),
    ("CiliumBGPAdvertisement", "spec.advertisements.0.advertisementType", "PodCidr", "is not one of"),
    (
        "CiliumBGPAdvertisement",
        "spec.advertisements.1.interface",
        None,
        "interface field is required for the 'Interface' advertisementType",
    ),
    (
        "CiliumBGPAdvertisement",
        "spec.advertisements.0.interface",
        {"name": "lo"},
        "interface field is not allowed for non-'Interface' advertisementType",
    ),
    ("CiliumBGPPeerConfig", "spec.timers.holdTimeSeconds", 2, "less than the minimum"),
    (
        "CiliumBGPPeerConfig",
        "spec.timers.keepAliveTimeSeconds",
        None,
        "keepAliveTimeSeconds can not be larger than holdTimeSeconds",
    ),
    ("CiliumBGPPeerConfig", "spec.families.0.safi", None, "'safi' is a required property"),
    ("CiliumBGPPeerConfig", "spec.gracefulRestart", {}, "'enabled' is a required property"),
    (
        "CiliumBGPClusterConfig",
        f"{INSTANCE}.peers.1.name",
        "storage-leaf-01:swp1",
        'Duplicate value: {"name": "storage-leaf-01:swp1"}',
    ),
    ("CiliumBGPClusterConfig", f"{INSTANCE}.peers.1.peerAddress", None, "one of peerAddress or autoDiscovery must be set"),
    ("CiliumBGPClusterConfig", f"{INSTANCE}.peers.1.peerAddress", "10.72.0.64/31", "does not match"),
    ("CiliumBGPClusterConfig", f"{INSTANCE}.localASN", 0, "less than the minimum"),
    ("CiliumBGPClusterConfig", "spec.bgpInstances", [], "should be non-empty"),
    ("BGPConfiguration", "spec.asNumber", "64512", "is not of type 'integer'"),
    ("BGPPeer", "spec.sourceAddress", "none", "is not one of"),
    ("BGPPeer", "spec.peerIP", "10.72.0.0/31", "does not match"),
    ("BGPFilter", "spec.exportV4.0.action", "accept", "is not one of"),
    ("BGPFilter", "spec.exportV4.0.matchOperator", None, "cidr and matchOperator must both be set or both be empty"),
    ("IPAMConfig", "spec.autoAllocateBlocks", None, "'autoAllocateBlocks' is a required property"),
]
"""A kind, a place in it, what is there instead (None: nothing), and the refusal. The message of a rule is upstream's."""
CHANGES: list[tuple[str, str, Any, str]] = [
    ("LocalQueue", "spec.clusterQueue", "routing", "spec.clusterQueue: field is immutable"),
    ("Topology", "spec.levels", LEVELS[::-1][1:], "spec.levels: field is immutable"),
    ("ResourceFlavor", "spec.nodeLabels", {"gpuyard.io/gpu": "b200"}, "nodeLabels are immutable when topologyName is set"),
    ("ResourceFlavor", "spec.tolerations", [{"operator": "Exists"}], "tolerations are immutable when topologyName is set"),
    ("ResourceFlavor", "spec.topologyName", "hosts", "topologyName is immutable when topologyName is set"),
]
"""What may be made so, and not changed to it."""


def change(found: dict[str, Any], place: str, value: Any) -> dict[str, Any]:
    """Return an object with something else at a place."""
    changed = copy.deepcopy(found)
    *outer, last = place.split(".")
    inner: Any = changed
    for key in outer:
        inner = inner[int(key)] if isinstance(inner, list) else inner[key]
    if value is None:
        del inner[last]
    else:
        inner[int(last) if isinstance(inner, list) else last] = value
    return changed


def test_valid_objects_of_every_kind_pass_and_may_be_applied_again() -> None:
    assert set(VALID) == {kind for _, kind in CRDS}
    assert [judge(found) + judge(found, found) for found in VALID.values()] == [""] * len(VALID)


@pytest.mark.parametrize(("kind", "place", "value", "refusal"), REFUSED)
def test_what_breaks_a_rule_is_refused(kind: str, place: str, value: Any, refusal: str) -> None:
    assert refusal in judge(change(VALID[kind], place, value))


@pytest.mark.parametrize(("kind", "place", "value", "refusal"), CHANGES)
def test_what_is_immutable_is_refused_as_a_change_alone(kind: str, place: str, value: Any, refusal: str) -> None:
    changed = change(VALID[kind], place, value)
    assert judge(changed) == ""
    assert refusal in judge(changed, VALID[kind])


def test_every_rule_is_shown_to_refuse_something() -> None:
    rules = {(kind, message) for (_, kind), crd in CRDS.items() for message in list_rules(crd["spec"])}
    shown = {(kind, message.rpartition(": ")[2]) for kind, _, _, message in REFUSED + CHANGES}
    assert rules - shown == set()


def test_schemas_have_no_rule_that_nobody_reads() -> None:
    told = set(re.findall(r"x-[a-z]+-[a-z-]+", yaml.safe_dump(list(CRDS.values()))))
    assert told == {"x-kubernetes-validations", "x-kubernetes-list-type", "x-kubernetes-list-map-keys"}

"""Manuals of what a running Ceph tells of itself (VER040 to VER056)."""

from __future__ import annotations

from cluster_model.intent.manual import Entry

_PLAYBOOK = "Run playbooks/ceph.yml: it says what it would change with --check, and moves data on your word alone."

MANUALS: dict[str, Entry] = {
    "VER040": Entry(
        "no monitor answered",
        "No host with a planned monitor let anybody in, or none of them got an answer from the cluster as its administrator.",
        "Log in to one of them and ask ceph status. Without a quorum look at the monitors' logs and clocks first. A user other "
        "than root has to be let sudo without a password.",
    ),
    "VER041": Entry(
        "another cluster",
        "The cluster that answers has another id than the plan: it was made by hand, or the address leads elsewhere.",
        "Set ceph.fsid to its id if the plan is meant for it; else look at which host answers.",
    ),
    "VER042": Entry(
        "monitor missing, elsewhere, or out of the quorum",
        "With one monitor less the loss of another may stop the cluster. Clients know monitors by the planned addresses.",
        _PLAYBOOK
        + " A monitor that is out of the quorum tells why in its log: clock, network, or a full disk. Never take out or "
        "move more than one at a time, and none while another is out of the quorum.",
    ),
    "VER043": Entry(
        "manager missing",
        "Without a second manager nothing balances, counts or answers while the first one's host is down.",
        _PLAYBOOK + " With cephadm see ceph orch ps.",
    ),
    "VER044": Entry(
        "clocks of monitors apart",
        "Monitors grant each other leases by the clock. Apart by more than a twentieth of a second they lose the quorum, again "
        "and again.",
        "Run playbooks/base.yml on these hosts, and see whether they reach the site's time servers.",
    ),
    "VER045": Entry(
        "OSDs missing, down, out, or not planned",
        "Capacity and waterline are computed with all planned OSDs. What is down is rebuilt elsewhere: the others are fuller.",
        "See the host's journal and dmesg; a drive that died is exchanged, and playbooks/ceph.yml makes an OSD on the new one.",
    ),
    "VER046": Entry(
        "host in another place in CRUSH",
        "Copies keep apart by the racks and rows that CRUSH knows. A host in a wrong one may have two copies in one rack.",
        _PLAYBOOK,
    ),
    "VER047": Entry(
        "pool missing, other than planned, or not planned",
        "Copies, the smallest number of them to go on with, and what is a failure domain decide what a loss costs; placement "
        "groups decide how even OSDs are.",
        _PLAYBOOK + " What somebody changed for a good reason belongs into the plan.",
    ),
    "VER048": Entry(
        "option other than planned",
        "An option in the monitors' store was never set, or set otherwise since. One that is set for some hosts or daemons wins "
        "over the planned one there: cephadm sets osd_memory_target for each host.",
        _PLAYBOOK + " What is set for some alone is removed by hand.",
    ),
    "VER049": Entry(
        "user missing, or with other rights",
        "A tenant cannot reach its namespace, or reaches more than it. Keys are not read.",
        _PLAYBOOK,
    ),
    "VER050": Entry(
        "filled too far",
        "Above the waterline a lost host can no longer be rebuilt; where an OSD is full every write to its pools stops.",
        "Add hosts in time: gpuyard storage CLUSTER --stored AMOUNT --growth AMOUNT says when. Delete data while that works.",
    ),
    "VER051": Entry(
        "OSDs less even than computed",
        "The waterline counts on the fullest OSD being no fuller than computed. With less even ones it lies lower.",
        "Turn the balancer on, mode upmap; or raise ceph.imbalance to what is there, and see where the waterline is then.",
    ),
    "VER052": Entry(
        "daemons of several versions",
        "An upgrade was not finished, or a daemon runs since before the packages were renewed.",
        "Restart what is older: monitors, then managers, then OSDs, one host after the other, with noout set, and each time once "
        "all placement groups are clean again. For packages playbooks/ceph_restart.yml does it; for cephadm see "
        "ceph orch upgrade status.",
    ),
    "VER053": Entry(
        "Ceph is not well",
        "A check of Ceph's own health that no other finding tells of.",
        "See ceph health detail, and Ceph's documentation, health checks. One that is known can be muted: ceph health mute.",
    ),
    "VER054": Entry(
        "file system missing, other than planned, or not planned",
        "Which pools a file system lies in never changes once it is made, but for pools that come to it; how many metadata "
        "servers share its work does.",
        _PLAYBOOK,
    ),
    "VER055": Entry(
        "metadata servers of a file system missing",
        "Without one that serves, everything that opens a file waits. Without one that stands by, it does once its host goes.",
        _PLAYBOOK + " See their logs, and ceph fs status.",
    ),
    "VER056": Entry(
        "gateways to objects missing, or of another zone",
        "Who asks one that is not there gets no answer, and Ceph's own health says nothing of it. It is known for a minute more.",
        _PLAYBOOK + " See its log on its host; it does not start without its realm and zone.",
    ),
}

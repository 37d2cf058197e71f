"""Our playbook makes a control plane of three servers and keeps it: joins, death, removal, return. The programs are real ones."""

import base64
import json
import re
import time

import pytest
import yaml

from tests.kubernetes.three_servers.lab import SERVERS, open_lab, seal
from tests.slowness import stretch, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.timeout(int(stretch(2400)))]
PLAY = ("kubernetes.yml", "--tags", "control,objects", "--limit", "kubernetes_control")
WEB = [
    {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {
                    "tolerations": [{"operator": "Exists"}],
                    "terminationGracePeriodSeconds": 1,
                    "containers": [
                        {
                            "name": "web",
                            "image": "lab.local/busybox:1",
                            "imagePullPolicy": "Never",
                            "command": ["sh", "-c", "mkdir /srv; echo web >/srv/index.html; exec httpd -f -p 8080 -h /srv"],
                        }
                    ],
                },
            },
        },
    },
    {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]},
    },
]
"""A pod on each node, and an address for all of them."""


@pytest.fixture(scope="module")
def lab(tmp_path_factory, collection):
    with open_lab(tmp_path_factory.mktemp("k8s")) as opened:
        yield opened


def count_changes(said):
    """Return how many changes each server had, of a playbook's recap."""
    return {name: int(count) for name, count in re.findall(r"^(\S+)\s+: ok=\d+\s+changed=(\d+)", said, re.MULTILINE)}


def list_ready(lab, server=SERVERS[0]):
    nodes = json.loads(lab.kubectl("get", "nodes", "--output=json", server=server) or '{"items": []}')["items"]
    ready = {"type": "Ready", "status": "True"}
    return [
        node["metadata"]["name"]
        for node in nodes
        if any(ready.items() <= condition.items() for condition in node["status"]["conditions"])
    ]


def list_members(lab, server):
    return [member["name"] for member in json.loads(ask(lab, server))["members"] if member["answers"]]


def ask(lab, server):
    return lab.on(server, "/usr/local/sbin/gpuyard-kubernetes", "look", "60")


def serves(lab, server, address):
    return lab.on(server, "curl", "--silent", "--max-time", "3", f"http://{address}/", check=False).strip() == "web"


def test_check_mode_announces_and_changes_nothing(lab):
    _, said = lab.play(*PLAY, "--check")
    assert said.count("msg: make the cluster") == 1
    assert said.count("msg: join the cluster") == 2
    for server in SERVERS:
        assert lab.on(server, "find", "/etc/kubernetes", "/usr/local/sbin", "/var/lib/gpuyard", "-type", "f", check=False) == ""


def test_a_server_on_which_init_died_is_reset_and_the_cluster_made(lab):
    """As after a power cut while kubeadm ran: etcd has begun, and nothing else. What etcd had is kept."""
    first = SERVERS[0]
    lab.on(
        first, "sh", "-c", "mkdir -p /etc/kubernetes/manifests /var/lib/etcd/member; echo init >/etc/kubernetes/gpuyard/making"
    )
    lab.on(first, "sh", "-c", "echo spoilt >/etc/kubernetes/manifests/kube-apiserver.yaml")
    lab.on(first, "sh", "-c", "mkdir /var/lib/etcd/member/snap; echo stored >/var/lib/etcd/member/snap/db")
    _, said = lab.play(*PLAY)
    assert "Reset the server" in said
    assert "what etcd of this server had is in /var/backups/etcd/reset-" in " ".join(said.split())
    assert (
        lab.on(first, "sh", "-c", "cat /var/backups/etcd/reset-*/member/snap/db; rm -r /var/backups/etcd/reset-*") == "stored\n"
    )
    assert sorted(list_ready(lab)) == list(SERVERS)
    for server in SERVERS:
        assert sorted(list_members(lab, server)) == list(SERVERS)
        assert lab.on(server, "stat", "-c", "%a", "/etc/kubernetes/admin.conf").strip() == "600"


def test_nothing_that_opens_the_cluster_is_left(lab):
    for server in SERVERS:
        assert lab.on(server, "stat", "-c", "%a", "/etc/kubernetes/gpuyard/encryption.yaml").strip() == "600"
        left = lab.on(server, "sh", "-c", "ls /etc/kubernetes/gpuyard /run/gpuyard/kubernetes_control || true")
        assert not {"discovery.conf", "join.yaml", "making"} & set(left.split())


def test_labels_of_nodes_that_joined_are_theirs(lab):
    labels = json.loads(lab.kubectl("get", "node", "control-002", "--output=jsonpath={.metadata.labels}"))
    rendered = yaml.safe_load_all((lab.tree / "kubernetes/nodes.yaml").read_text())
    wanted = next(node for node in rendered if node and node["metadata"]["name"] == "control-002")["metadata"]["labels"]
    assert wanted.items() <= labels.items()
    assert "gpu-001" not in lab.kubectl("get", "nodes")


def test_a_service_made_after_the_joins_answers_on_every_node(lab):
    lab.kubectl("apply", "--filename=-", said={"apiVersion": "v1", "kind": "List", "items": WEB})
    address = lab.kubectl("get", "service", "web", "--output=jsonpath={.spec.clusterIP}")
    for server in SERVERS:
        wait_for(lambda server=server: serves(lab, server, address), 60, f"{server}: {address} does not answer", every_s=1)


def test_secrets_are_encrypted_in_etcd(lab):
    lab.kubectl("create", "secret", "generic", "told", "--from-literal=word=xyzzy-plugh")
    tool = "keys=/etc/kubernetes/pki/etcd; ETCDCTL_API=3 /proc/$(pgrep -x etcd)/root/usr/local/bin/etcdctl --cacert=$keys/ca.crt"
    stored = lab.on(
        SERVERS[1],
        *("sh", "-c", f"{tool} --cert=$keys/server.crt --key=$keys/server.key get /registry/secrets/default/told | base64 -w0"),
    )
    plain = base64.b64decode(stored)
    assert b"k8s:enc:secretbox:v1:key1" in plain
    assert b"xyzzy" not in plain


def test_a_second_run_changes_nothing(lab):
    _, said = lab.play(*PLAY)
    assert set(count_changes(said).values()) == {0}, said[-4000:]
    _, said = lab.play(*PLAY, "--check")
    assert set(count_changes(said).values()) == {0}, said[-4000:]


def test_a_cluster_that_answers_is_never_reset(lab):
    """As where a run was cut off when kubeadm had all but ended: a person has found the cluster to work, and uses it."""
    first, second, _ = SERVERS
    lab.kubectl("create", "configmap", "worked", "--from-literal=word=kept")
    lab.kubectl("delete", "--namespace=kube-public", "configmap", "cluster-info")  # kubeadm makes it late
    lab.on(first, "sh", "-c", "echo init >/etc/kubernetes/gpuyard/making")
    kept = lab.kubectl("get", "node", second, "--output=jsonpath={.spec.taints}")
    lab.kubectl("taint", "node", second, "node-role.kubernetes.io/master-")
    lab.on(second, "sh", "-c", "echo join >/etc/kubernetes/gpuyard/making")
    _, said = lab.play(*PLAY)
    assert "Reset the server" not in said
    assert lab.kubectl("get", "configmap", "worked", "--output=jsonpath={.data.word}") == "kept"
    assert "cluster-info" in lab.kubectl("get", "--namespace=kube-public", "configmap")
    assert "master" in kept and lab.kubectl("get", "node", second, "--output=jsonpath={.spec.taints}") == kept
    for server in SERVERS:
        assert lab.on(server, "sh", "-c", "ls /etc/kubernetes/gpuyard/making || echo none", check=False) == "none\n"
    _, said = lab.play(*PLAY)
    assert set(count_changes(said).values()) == {0}, said[-4000:]


def test_what_the_plan_says_is_so_again(lab):
    """A label that a person changed is the plan's; a right that is not in the plan goes, and other things are told."""
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "users", "namespace": "default"},
        "subjects": [{"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "gpuyard:left"}],
        "roleRef": {"kind": "Role", "apiGroup": "rbac.authorization.k8s.io", "name": "user"},
    }
    theirs = {**binding, "metadata": {"name": "theirs", "namespace": "default"}}
    # With a label, as all that are rendered: of an object without a field of its own nobody is noted as the manager.
    labels = {"pod-security.kubernetes.io/enforce": "baseline"}
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "left", "labels": labels}}
    for each, manager in ((binding, "gpuyard"), (space, "gpuyard"), (theirs, "a-person")):
        lab.kubectl("apply", "--server-side", f"--field-manager={manager}", "--filename=-", said=each)
    rack = lab.kubectl("get", "node", "control-002", "--output=jsonpath={.metadata.labels.gpuyard\\.io/rack}")
    lab.kubectl("label", "--overwrite", "node", "control-002", "gpuyard.io/rack=elsewhere")
    _, said = lab.play(*PLAY, "--check")
    words = " ".join(said.split())
    assert "rights that would be taken away: RoleBinding default/users" in words
    assert "kubectl delete namespaces left" in words
    assert "users" in lab.kubectl("get", "rolebindings")
    lab.play(*PLAY)
    assert lab.kubectl("get", "rolebindings", "--output=name").split() == ["rolebinding.rbac.authorization.k8s.io/theirs"]
    assert "left" in lab.kubectl("get", "namespaces")
    assert lab.kubectl("get", "node", "control-002", "--output=jsonpath={.metadata.labels.gpuyard\\.io/rack}") == rack
    lab.kubectl("delete", "namespace", "left")
    lab.kubectl("delete", "rolebinding", "theirs")


def test_a_snapshot_is_written_and_can_be_read(lab):
    for server in SERVERS:
        lab.on(server, "systemctl", "start", "gpuyard-etcd-backup.service")
        files = lab.on(server, "sh", "-c", "stat -c '%a %n' /var/backups/etcd /var/backups/etcd/*").split("\n")
        assert files[0] == "700 /var/backups/etcd"
        assert re.fullmatch(r"600 /var/backups/etcd/etcd-\d{8}T\d{6}Z\.db", files[1])


def test_certificates_are_renewed_and_what_reads_them_restarted(lab):
    """As if they ended soon; etcd's process is another one afterwards, and its certificate the new one."""
    server = SERVERS[1]
    before = lab.on(server, "sh", "-c", "pgrep -x etcd; sha256sum </etc/kubernetes/pki/etcd/server.crt | cut -c1-64")
    said = lab.on(server, "/usr/local/sbin/gpuyard-kubernetes", "renew", "400", limit_s=600)
    assert "renewed, since these were to end within 400 days: " in said
    assert [line for line in said.split("\n") if line.startswith("restarted ")] == [
        f"restarted {component}" for component in ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
    ]
    after = lab.on(server, "sh", "-c", "pgrep -x etcd; sha256sum </etc/kubernetes/pki/etcd/server.crt | cut -c1-64")
    assert not set(before.split()) & set(after.split())
    assert sorted(list_members(lab, server)) == list(SERVERS)


def test_another_secret_is_refused(lab):
    code, said = lab.play(
        *PLAY, "-e", '{"kubernetes_control_secrets": {"kubernetes-encryption": "' + "A" * 43 + '="}}', check=False
    )
    assert code
    assert "encryption.yaml: another key; expected a key that this run has too" in " ".join(said.split())


def test_the_audit_policy_is_read_by_restarted_api_servers(lab):
    name = "kubernetes/kubeadm/audit-policy.yaml"
    (lab.tree / name).write_text((lab.tree / name).read_text() + "# another\n")
    seal(lab.tree, name)
    _, said = lab.play(*PLAY)
    assert said.count("Restart the API server]") == len(SERVERS)
    _, said = lab.play(*PLAY)
    assert set(count_changes(said).values()) == {0}


def test_the_endpoint_answers_without_the_first_server(lab):
    first, *others = SERVERS
    lab.podman("kill", f"{lab.name}-{first}")
    began = time.monotonic()
    wait_for(lambda: "control-003" in lab.kubectl("get", "nodes", server=others[0], check=False), 60, "no answer", every_s=1)
    print(f"the endpoint answered after {time.monotonic() - began:.1f} s")


def test_a_second_server_is_not_taken_out_while_one_is_dead(lab):
    code, said = lab.play("kubernetes_remove.yml", "-e", "node=control-003", check=False)
    assert code
    assert "without control-003 1 of 2 members answer; expected more than half" in " ".join(said.split())


def test_a_dead_server_leaves_and_comes_again_as_a_new_one(lab):
    first, *others = SERVERS
    lab.play("kubernetes_remove.yml", "--limit", "control-002,control-003", "-e", "node=control-001 server=lost")
    assert sorted(list_members(lab, others[0])) == others
    assert first not in lab.kubectl("get", "nodes", server=others[0])
    lab.podman("start", f"{lab.name}-{first}")
    # Its system is a new one.
    wait_for(lambda: lab.on(first, "systemctl", "is-active", "containerd", check=False).strip() == "active", 60, first)
    lab.lay_node(first)
    lab.on(first, "kubeadm", "reset", "--force", "--cri-socket=unix:///run/containerd/containerd.sock", limit_s=300)
    lab.on(first, "sh", "-c", "rm -rf /etc/kubernetes/gpuyard/* /var/lib/gpuyard /var/lib/etcd/member")
    lab.play(*PLAY)
    assert sorted(list_members(lab, first)) == list(SERVERS)
    wait_for(lambda: sorted(list_ready(lab, others[0])) == list(SERVERS), 120, "not all ready", every_s=1)


def test_a_server_is_taken_out_and_joins_again(lab):
    code, said = lab.play("kubernetes_remove.yml", "-e", "node=control-003", "--check")
    assert "control-003 would be drained, reset, taken out of etcd, deleted" in said
    lab.kubectl("run", "alone", "--image=lab.local/busybox:1", "--image-pull-policy=Never", "--overrides", ALONE)
    wait_for(lambda: "Running" in lab.kubectl("get", "pod", "alone"), 60, "the pod does not run", every_s=1)
    code, said = lab.play("kubernetes_remove.yml", "-e", "node=control-003", check=False)
    assert code
    assert "expected pods that something makes again elsewhere" in " ".join(said.split())
    lab.play("kubernetes_remove.yml", "-e", "node=control-003 pods=lose")
    assert sorted(list_members(lab, SERVERS[1])) == list(SERVERS[:2])
    assert "control-003" not in lab.kubectl("get", "nodes")
    lab.lay_node("control-003")
    lab.play(*PLAY)
    assert sorted(list_members(lab, SERVERS[2])) == list(SERVERS)
    _, said = lab.play(*PLAY)
    assert set(count_changes(said).values()) == {0}, said[-4000:]


ALONE = json.dumps(
    {
        "spec": {
            "nodeName": "control-003",
            "tolerations": [{"operator": "Exists"}],
            "terminationGracePeriodSeconds": 1,
            "containers": [
                {
                    "name": "alone",
                    "image": "lab.local/busybox:1",
                    "imagePullPolicy": "Never",
                    "command": ["sleep", "86400"],
                }
            ],
        }
    }
)
"""A pod that nothing makes again, on one of the servers."""

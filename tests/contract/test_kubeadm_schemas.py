"""The schemas of kubeadm/ themselves: what is valid passes, and a mistake of each kind is found."""

import copy

import jsonschema
import pytest
import yaml

from tests.contract.kubeadm_schemas import COMMON, FILES, SCHEMAS, judge

VALID = list(
    yaml.safe_load_all(
        """
apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
bootstrapTokens:
- token: abcdef.0123456789abcdef
  ttl: 24h0m0s
  usages: [signing, authentication]
  groups: ['system:bootstrappers:kubeadm:default-node-token']
nodeRegistration:
  name: control-1
  criSocket: unix:///run/containerd/containerd.sock
  imagePullPolicy: IfNotPresent
  imagePullSerial: true
  taints: []
  kubeletExtraArgs: [{name: node-ip, value: 10.0.0.1}]
localAPIEndpoint: {advertiseAddress: 10.0.0.1, bindPort: 6443}
certificateKey: e6a2eb8581237ab72a4f494f30285ec12a9694d750b9785706a83bfcbbbd2204
skipPhases: [addon/kube-proxy]
patches: {directory: /etc/kubernetes/patches}
timeouts: {controlPlaneComponentHealthCheck: 10m, discovery: 1h30m, etcdAPICall: 2.5s}
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: v1.36.3
clusterName: gpu
controlPlaneEndpoint: api.example.net:6443
imageRepository: registry.example.net/k8s
networking: {serviceSubnet: 10.96.0.0/16, podSubnet: 10.240.0.0/13, dnsDomain: cluster.local}
apiServer:
  certSANs: [api.example.net, 10.0.0.1]
  extraArgs: [{name: audit-policy-file, value: /etc/kubernetes/audit.yaml}, {name: audit-log-maxage, value: '30'}]
  extraEnvs: [{name: GOGC, value: '75'}]
  extraVolumes:
  - {name: audit, hostPath: /etc/kubernetes/audit.yaml, mountPath: /etc/kubernetes/audit.yaml, readOnly: true, pathType: File}
controllerManager: {extraArgs: [{name: node-cidr-mask-size, value: '24'}]}
scheduler: {}
etcd: {local: {dataDir: /var/lib/etcd, extraArgs: [{name: quota-backend-bytes, value: '8589934592'}], serverCertSANs: [etcd-1]}}
dns: {imageRepository: registry.example.net/coredns, imageTag: v1.14.2}
proxy: {disabled: true}
encryptionAlgorithm: ECDSA-P384
certificateValidityPeriod: 8760h
caCertificateValidityPeriod: 87600h
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
etcd:
  external:
    {endpoints: ['https://10.0.0.1:2379'], httpEndpoints: ['https://10.0.0.1:2378'], caFile: /ca, certFile: /crt, keyFile: /key}
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
discovery: {file: {kubeConfigPath: /etc/kubernetes/discovery.conf}, tlsBootstrapToken: abcdef.0123456789abcdef}
controlPlane:
  localAPIEndpoint: {advertiseAddress: 10.0.0.2}
  certificateKey: e6a2eb8581237ab72a4f494f30285ec12a9694d750b9785706a83bfcbbbd2204
nodeRegistration: {taints: [{key: nvidia.com/gpu, effect: NoSchedule}]}
---
apiVersion: kubeadm.k8s.io/v1beta3
kind: ClusterConfiguration
apiServer: {extraArgs: {audit-log-maxage: '30'}, timeoutForControlPlane: 4m0s}
---
apiVersion: kubeadm.k8s.io/v1beta3
kind: InitConfiguration
skipPhases: [addon/kube-proxy]
---
apiVersion: kubeadm.k8s.io/v1beta3
kind: JoinConfiguration
discovery:
  timeout: 5m0s
  bootstrapToken:
    token: abcdef.0123456789abcdef
    apiServerEndpoint: 10.0.0.1:6443
    caCertHashes: ['sha256:e6a2eb8581237ab72a4f494f30285ec12a9694d750b9785706a83bfcbbbd2204']
---
apiVersion: kubeadm.k8s.io/v1beta2
kind: ClusterConfiguration
dns: {type: CoreDNS}
useHyperKubeImage: false
controllerManager: {extraArgs: {node-cidr-mask-size: '24'}}
---
apiVersion: kubeadm.k8s.io/v1beta2
kind: InitConfiguration
nodeRegistration: {kubeletExtraArgs: {node-ip: 10.0.0.1}}
---
apiVersion: kubeadm.k8s.io/v1beta2
kind: JoinConfiguration
discovery: {bootstrapToken: {token: abcdef.0123456789abcdef, apiServerEndpoint: '10.0.0.1:6443', unsafeSkipCAVerification: true}}
---
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: systemd
cpuManagerPolicy: static
cpuManagerPolicyOptions: {full-pcpus-only: 'true'}
memoryManagerPolicy: Static
reservedMemory: [{numaNode: 0, limits: {memory: 1124Mi}}, {numaNode: 1, limits: {memory: 1Gi, hugepages-2Mi: 4Mi}}]
topologyManagerPolicy: best-effort
topologyManagerScope: pod
topologyManagerPolicyOptions: {prefer-closest-numa-nodes: 'true', max-allowable-numa-nodes: '16'}
systemReserved: {cpu: '2', memory: 1Gi, ephemeral-storage: 10Gi, pid: '1000'}
kubeReserved: {cpu: 500m, memory: 1Gi}
evictionHard: {memory.available: 100Mi, nodefs.available: 10%, nodefs.inodesFree: 5%, imagefs.available: 15%, pid.available: 10%}
enforceNodeAllocatable: [pods]
maxPods: 64
podPidsLimit: -1
rotateCertificates: true
serverTLSBootstrap: true
containerLogMaxSize: 50Mi
containerLogMaxFiles: 5
imageGCHighThresholdPercent: 85
imageGCLowThresholdPercent: 80
imageMaximumGCAge: 720h
failSwapOn: true
shutdownGracePeriod: 60s
shutdownGracePeriodCriticalPods: 20s
protectKernelDefaults: true
maxParallelImagePulls: 4
authentication:
  {anonymous: {enabled: false}, webhook: {enabled: true, cacheTTL: 0s}, x509: {clientCAFile: /etc/kubernetes/pki/ca.crt}}
authorization: {mode: Webhook}
logging: {flushFrequency: 0, verbosity: 2, options: {json: {infoBufferSize: '0'}}}
memoryThrottlingFactor: 0.9
---
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
nftables: {masqueradeBit: 14, syncPeriod: 30s}
conntrack: {maxPerCore: 0, tcpCloseWaitTimeout: 1h0m0s}
nodePortAddresses: [primary]
---
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: None, nonResourceURLs: ['/healthz*', /readyz, '/livez*']}
- {level: Metadata, resources: [{group: '', resources: [secrets, configmaps], resourceNames: [a]}]}
- {level: Request, verbs: [create], users: ['system:admin'], omitManagedFields: true}
- {level: Metadata}
---
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets, '*.example.net']
  providers:
  - secretbox: {keys: [{name: key1, secret: MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=}]}
  - aesgcm: {keys: [{name: key1, secret: MDEyMzQ1Njc4OWFiY2RlZg==}]}
  - kms: {apiVersion: v2, name: vault, endpoint: 'unix:///run/kms.sock', timeout: 3s}
  - identity: {}
---
apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- {name: EventRateLimit, path: /etc/kubernetes/events.yaml}
- name: PodSecurity
  configuration:
    apiVersion: pod-security.admission.config.k8s.io/v1
    kind: PodSecurityConfiguration
    defaults: {enforce: baseline, enforce-version: latest, audit: restricted, audit-version: v1.36}
    exemptions: {usernames: [], namespaces: [kube-system], runtimeClasses: []}
---
apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
anonymous: {enabled: true, conditions: [{path: /livez}, {path: /readyz}]}
jwt:
- issuer: {url: 'https://id.example.net', audiences: [gpu]}
  claimMappings: {username: {claim: sub, prefix: ''}, uid: {claim: sub}}
---
apiVersion: pod-security.admission.config.k8s.io/v1
kind: PodSecurityConfiguration
defaults: {warn: restricted}
"""
    )
)
KUBEADM, KUBELET, API_SERVER = "kubeadm.k8s.io/v1beta4", "kubelet.config.k8s.io/v1beta1", "apiserver.config.k8s.io/v1"
ARGS = {"audit-log-maxage": "30"}
SHORT = {"keys": [{"name": "key1", "secret": "MDEyMzQ1Njc4OWFiY2RlZg=="}]}
"""A key of 16 bytes: AES takes it, secretbox wants 32."""


def id_of(document):
    return f"{document['apiVersion']}-{document['kind']}"


@pytest.mark.parametrize("name", [*FILES, "common"])
def test_every_file_is_a_schema(name):
    jsonschema.Draft202012Validator.check_schema(FILES.get(name, {"$defs": COMMON}))


def test_every_kind_has_a_valid_document():
    assert {(document["apiVersion"], document["kind"]) for document in VALID} == set(SCHEMAS)


@pytest.mark.parametrize("document", VALID, ids=id_of)
def test_a_valid_document_passes(document):
    assert judge(document) == ""


def objects(value):
    """Yield every object in a document."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from objects(inner)


@pytest.mark.parametrize("document", VALID, ids=id_of)
def test_a_misspelt_key_is_found_at_every_depth(document):
    broken = copy.deepcopy(document)
    for place in list(objects(broken)):
        place["misspelt"] = 1
        assert judge(broken), place
        del place["misspelt"]


@pytest.mark.parametrize("document", VALID, ids=id_of)
def test_a_value_of_the_wrong_kind_is_found_in_every_field(document):
    for key in set(document) - {"apiVersion", "kind"}:
        for wrong in (None, 1.5):
            assert judge(document | {key: wrong}), key


@pytest.mark.parametrize(
    ("version", "kind", "fields", "place"),
    [
        (KUBEADM, "ClusterConfiguration", {"apiServer": {"extraArgs": ARGS}}, "$.apiServer.extraArgs"),
        (KUBEADM, "ClusterConfiguration", {"etcd": {"local": {"extraArgs": ARGS}}}, "$.etcd.local.extraArgs"),
        (KUBEADM, "InitConfiguration", {"nodeRegistration": {"kubeletExtraArgs": ARGS}}, "$.nodeRegistration.kubeletExtraArgs"),
        (
            "kubeadm.k8s.io/v1beta3",
            "ClusterConfiguration",
            {"scheduler": {"extraArgs": [{"name": "v", "value": "2"}]}},
            "$.scheduler.extraArgs",
        ),
        (
            KUBEADM,
            "ClusterConfiguration",
            {"scheduler": {"extraArgs": [{"name": "--v", "value": "2"}]}},
            "$.scheduler.extraArgs[0].name",
        ),
        (
            KUBEADM,
            "ClusterConfiguration",
            {"scheduler": {"extraArgs": [{"name": "v", "value": 2}]}},
            "$.scheduler.extraArgs[0].value",
        ),
        (KUBEADM, "ClusterConfiguration", {"apiServer": {"timeoutForControlPlane": "4m"}}, "$.apiServer"),
        (KUBEADM, "ClusterConfiguration", {"etcd": {"local": {}, "external": {"endpoints": ["a"]}}}, "$.etcd"),
        (KUBEADM, "ClusterConfiguration", {"encryptionAlgorithm": "RSA"}, "$.encryptionAlgorithm"),
        (KUBEADM, "ClusterConfiguration", {"certificateValidityPeriod": "1y"}, "$.certificateValidityPeriod"),
        (KUBEADM, "JoinConfiguration", {}, "$"),
        (KUBEADM, "JoinConfiguration", {"discovery": {}}, "$.discovery"),
        (KUBEADM, "JoinConfiguration", {"discovery": {"file": {"kubeConfigPath": "/a"}, "timeout": "5m"}}, "$.discovery"),
        (KUBEADM, "JoinConfiguration", {"discovery": {"file": {"kubeConfigPath": "/a"}, "bootstrapToken": {}}}, "$.discovery"),
        ("kubeadm.k8s.io/v1beta2", "InitConfiguration", {"skipPhases": []}, "$"),
        ("kubeadm.k8s.io/v1beta3", "InitConfiguration", {"timeouts": {}}, "$"),
        (KUBEADM, "InitConfiguration", {"certificateKey": "short"}, "$.certificateKey"),
        (KUBEADM, "InitConfiguration", {"bootstrapTokens": [{"token": "abc.def"}]}, "$.bootstrapTokens[0].token"),
        (KUBELET, "KubeletConfiguration", {"cpuManagerPolicy": "static"}, "$"),
        (KUBELET, "KubeletConfiguration", {"memoryManagerPolicy": "Static"}, "$"),
        (
            KUBELET,
            "KubeletConfiguration",
            {"topologyManagerPolicyOptions": {"max-numa-nodes": "8"}},
            "$.topologyManagerPolicyOptions",
        ),
        (
            KUBELET,
            "KubeletConfiguration",
            {"cpuManagerPolicyOptions": {"align-by-socket": True}},
            "$.cpuManagerPolicyOptions['align-by-socket']",
        ),
        (KUBELET, "KubeletConfiguration", {"systemReserved": {"cpu": 2}}, "$.systemReserved.cpu"),
        (KUBELET, "KubeletConfiguration", {"systemReserved": {"nvidia.com/gpu": "1"}}, "$.systemReserved"),
        (KUBELET, "KubeletConfiguration", {"evictionHard": {"memory.avail": "1Gi"}}, "$.evictionHard"),
        (
            KUBELET,
            "KubeletConfiguration",
            {"reservedMemory": [{"numaNode": 0, "limits": {"cpu": "1"}}]},
            "$.reservedMemory[0].limits",
        ),
        (KUBELET, "KubeletConfiguration", {"serializeImagePulls": True, "maxParallelImagePulls": 4}, "$.maxParallelImagePulls"),
        (KUBELET, "KubeletConfiguration", {"shutdownGracePeriod": 60}, "$.shutdownGracePeriod"),
        ("kubeproxy.config.k8s.io/v1alpha1", "KubeProxyConfiguration", {"mode": "nft"}, "$.mode"),
        ("audit.k8s.io/v1", "Policy", {"rules": []}, "$.rules"),
        ("audit.k8s.io/v1", "Policy", {"rules": [{"level": "Metadata", "resources": [], "nonResourceURLs": []}]}, "$.rules[0]"),
        (
            "audit.k8s.io/v1",
            "Policy",
            {"rules": [{"level": "None", "resources": [{"resourceNames": ["a"]}]}]},
            "$.rules[0].resources[0]",
        ),
        (
            API_SERVER,
            "EncryptionConfiguration",
            {"resources": [{"resources": ["a"], "providers": []}]},
            "$.resources[0].providers",
        ),
        (
            API_SERVER,
            "EncryptionConfiguration",
            {"resources": [{"resources": ["secrets"], "providers": [{"identity": {}, "aesgcm": SHORT}]}]},
            "$.resources[0].providers[0]",
        ),
        (
            API_SERVER,
            "EncryptionConfiguration",
            {"resources": [{"resources": ["secrets"], "providers": [{"secretbox": SHORT}]}]},
            "$.resources[0].providers[0].secretbox.keys[0].secret",
        ),
        (API_SERVER, "AdmissionConfiguration", {"plugins": [{"name": "PodSecurity"}]}, "$.plugins[0]"),
        (
            API_SERVER,
            "AdmissionConfiguration",
            {"plugins": [{"name": "a", "configuration": {"apiVersion": "b", "kind": "c"}}]},
            "$",
        ),
        (API_SERVER, "AuthenticationConfiguration", {"anonymous": {"conditions": []}}, "$.anonymous"),
        ("kubeadm.k8s.io/v1", "InitConfiguration", {}, "$"),
        (KUBEADM, "Policy", {}, "$"),
        (None, ["a"], {}, "$"),
    ],
)
def test_a_mistake_is_found_where_it_is(version, kind, fields, place):
    assert judge({"apiVersion": version, "kind": kind} | fields).startswith(f"{place}: ")


@pytest.mark.parametrize("document", [None, [], "text", {}])
def test_what_is_no_document_is_said(document):
    assert judge(document).startswith("$: ")

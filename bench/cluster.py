"""Write the intent of a cluster of any size, for the benchmarks: DGX H100 in units of 64, SN5600, all networks."""

import argparse
import json
from pathlib import Path

GPUS_PER_SERVER = 8
SERVERS_PER_RACK = 4
STORAGE_PER_RACK = 7
RACKS_PER_ROW = 150


def make_document(gpus, *, planned=None, storage=None):
    """Return the intent of a cluster of `gpus` GPUs, planned for `planned`, with so many storage servers, or one for 16."""
    servers = -(-gpus // GPUS_PER_SERVER)
    final = -(-(planned or gpus) // GPUS_PER_SERVER)
    storage = storage or max(4, final // 16)
    gpu_racks = -(-final // SERVERS_PER_RACK)
    network_racks = max(8, gpu_racks // 6, -(-storage // STORAGE_PER_RACK))
    gpu_rows = [f"A{chr(65 + index)}" for index in range(-(-gpu_racks // RACKS_PER_ROW))]
    network_rows = [f"N{chr(65 + index)}" for index in range(-(-network_racks // RACKS_PER_ROW))]
    rows = {}
    for names, racks in ((gpu_rows, gpu_racks), (network_rows, network_racks)):
        for name in names:
            rows[name] = {"id": len(rows) + 1, "racks": min(racks, RACKS_PER_ROW)}
            racks -= rows[name]["racks"]
    return {
        "name": f"bench-{gpus}",
        "site": {
            "domain": "bench.example.net",
            "dns": ["192.168.255.53"],
            "ntp": ["192.168.255.123"],
            "syslog": ["192.168.255.14"],
        },
        "racks": {
            "rows": rows,
            "groups": {
                "gpu": {"id": 1, "rows": gpu_rows, "height_u": 52, "power_kw": 48, "feed_kw": 34, "pdu": "generic/pdu-34kw"},
                "network": {
                    "id": 2,
                    "rows": network_rows,
                    "height_u": 48,
                    "power_kw": 60,
                    "feed_kw": 34,
                    "pdu": "generic/pdu-34kw",
                },
            },
            "geometry": {"row_pitch_m": 2.0},
        },
        "servers": {
            "gpu": {
                "id": 1,
                "model": "nvidia/dgx-h100",
                "count": servers,
                "planned": final,
                "unit": 64,
                "racks": "gpu",
                "per_rack": SERVERS_PER_RACK,
            },
            "storage": {"id": 2, "model": "generic/2u-24nvme", "count": storage, "racks": "network"},
            "control": {"id": 3, "model": "generic/1u", "count": 5, "racks": "network"},
        },
        "networks": {
            "compute": {"technology": "roce", "leaf": "nvidia/sn5600", "nos": "sonic", "pool": "10.0.0.0/9"},
            "storage": {
                "technology": "roce",
                "leaf": "nvidia/sn4700",
                "nos": "sonic",
                "oversubscription": 2,
                "pool": "10.128.0.0/10",
            },
            "oob": {
                "leaf": "nvidia/sn2201",
                "spine": "nvidia/sn4700",
                "nos": "sonic",
                "racks_per_leaf": 2,
                "pool": "10.192.0.0/10",
            },
        },
        "ceph": {"hosts": "storage", "failure_domain": "rack", "pools": {"datasets": {"replicas": 3}}},
        "kubernetes": {
            "control": "control",
            "workers": ["gpu"],
            "service_pool": "172.24.0.0/16",
            "pod_pool": "172.28.0.0/14",
        },
    }


def write_cluster(gpus, folder, **about):
    """Write the intent of a cluster into a folder; the rest is make_document's."""
    text = json.dumps(make_document(gpus, **about), indent=1)  # JSON is YAML
    (Path(folder) / "cluster.yml").write_text(text + "\n", "utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("gpus", type=int)
    parser.add_argument("folder", type=Path, help="where cluster.yml is written")
    parser.add_argument("--planned", type=int, help="GPUs in the end")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    write_cluster(args.gpus, args.folder, planned=args.planned)


if __name__ == "__main__":
    main()

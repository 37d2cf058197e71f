"""Hosts that do not exist: what they would tell of themselves if all were as planned. A double, for the comparison alone."""

from cluster_model.verify.hosts.compare import FORMAT

GIGA = 1000
MODELS = {"nvidia/dgx-h100": "DGXH100", "nvidia/ufm-3.1": "UFM Enterprise Appliance 3.1"}
"""What boards call themselves."""


def describe(plan, server):
    """Return the document of a host that is as planned. A double, for the comparison alone."""
    infiniband = {network.name for network in plan.networks if network.technology == "infiniband"}
    bonds = {name: bond for bond in server.bonds for name in bond.ports}
    vlans = [vlan for bond in server.bonds for vlan in bond.vlans]
    width = "32.0 GT/s PCIe x16"
    ports = [
        {"name": p.name, "mac": p.mac, "up": True, "speed_mbps": p.speed_gbps * GIGA,
         "mtu_bytes": 2044 if p.network in infiniband else p.mtu_bytes, "pci": p.pci, "numa": p.numa, "pcie": width,
         "pcie_max": width, "driver": "mlx5_core", "firmware": "28.43.2026", "rdma": [p.rdma] if p.rdma else [],
         "bond": bonds[p.name].name if p.name in bonds else ""}
        for p in server.ports
    ]  # fmt: skip
    placed = [(p.name, p.address) for p in server.ports] + [("lo", s.address) for s in server.services]
    placed += [(vlan.name, vlan.address or "172.16.0.9/24") for vlan in vlans]
    rails = [p for p in server.ports if p.table]
    near = {p.gpu: p.numa for p in server.ports}
    ranges = [(s, destination) for s in server.services for destination in (s.route, *s.beyond)]
    over = [
        {"dst": destination, "prefsrc": s.address.partition("/")[0], "metric": 100,
         "nexthops": [{"gateway": gateway, "dev": name} for gateway, name in zip(s.gateways, s.ports, strict=True)]}
        for s, destination in ranges
    ]  # fmt: skip
    over += [
        {"dst": destination, "gateway": gateway, "dev": name, "metric": 200 + number}
        for s, destination in ranges for number, (gateway, name) in enumerate(zip(s.gateways, s.ports, strict=True))
    ]  # fmt: skip
    gpus = [
        {"index": str(n), "name": "NVIDIA L40S" if "l40s" in server.gpu_model else "NVIDIA H100 80GB HBM3", "serial": f"S{n}",
         "driver_version": "580.95.05", "power.limit": f"{server.gpu_cap_w or 700:.2f}", "numa": near.get(n, -1),
         "pcie.link.width.current": "16", "pcie.link.width.max": "16"}
        for n in range(server.gpus)
    ]  # fmt: skip
    return {
        "format": FORMAT,
        "hostname": server.name,
        "serial": server.serial,
        "model": MODELS.get(server.model, "Board"),
        "ports": ports,
        "addresses": [{"port": name, "address": address} for name, address in placed if address],
        "routes": [{"dst": p.route, "gateway": p.gateway, "dev": p.name, "table": str(p.table)} for p in rails] + over,
        "rules": [{"priority": 0, "src": "all", "table": "255"}]
        + [{"priority": 100, "src": p.address.partition("/")[0], "table": str(p.table)} for p in rails],
        "gpus": gpus,
        "nvidia_module": "580.95.05" if gpus else "",
        "limits": {"DefaultLimitMEMLOCK": "infinity", "DefaultLimitNOFILE": "524288"},
        "clock": {"now": 1000.5, "synced": True, "offset_s": 0.0001},
    }

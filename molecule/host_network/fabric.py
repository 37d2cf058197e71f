"""The switches of the network scenario: one namespace that is every leaf, with a real cable to each port of each container.

`tell` writes what the plan says of a host, for the scenario's plays. `plug` gives a container its NICs, with the MACs of the plan
and the kernel's own names (eth0, eth1, …), and the address out of band that an installer left. `unplug` takes the namespace away.
Names, MACs and addresses come from the rendered inventory.
"""

import argparse
import ipaddress
import json
import re
import subprocess
from pathlib import Path


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("verb", choices=["tell", "plug", "unplug"])
    parser.add_argument("--fabric", metavar="NAMESPACE")
    parser.add_argument("--inventory", type=Path)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--fresh", action="store_true", help="the address out of band is set by hand, as an installer leaves it")
    parser.add_argument("hosts", nargs="*", metavar="HOST=PID")
    wanted = parser.parse_intermixed_args()
    if wanted.verb == "unplug":
        subprocess.run(["ip", "netns", "delete", wanted.fabric], capture_output=True, check=False)
        return
    body = json.loads(wanted.inventory.read_text("utf-8"))
    if wanted.verb == "tell":
        wanted.folder.mkdir(exist_ok=True)
        for host in wanted.hosts:
            (wanted.folder / f"{host}.json").write_text(json.dumps({**body["all"]["vars"], **tell(body, host)}), "utf-8")
        return
    if wanted.fabric not in run("ip", "netns", "list").split():
        run("ip", "netns", "add", wanted.fabric)
        run("ip", "-n", wanted.fabric, "link", "set", "lo", "up")
        run(
            "ip", "netns", "exec", wanted.fabric, "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv4.fib_multipath_hash_policy=1"
        )
    for host, pid in (pair.split("=") for pair in wanted.hosts):
        plug(wanted.fabric, tell(body, host), pid, wanted.fresh)


def tell(body: dict, host: str) -> dict:
    """Return the variables of a host and of its group."""
    (group,) = (name for name in body if name.startswith("group_") and host in body[name].get("hosts", ()))
    return {**body[group].get("vars", {}), **body["_meta"]["hostvars"][host]}


def plug(fabric: str, told: dict, pid: str, fresh: bool) -> None:
    """Give one container its NICs."""
    here, there = ["ip", "-n", fabric], ["nsenter", "-t", pid, "-n", "ip"]
    # The kernel settings of the container's own network, as a machine has them; podman has them read-only.
    run(
        "nsenter",
        "-t",
        pid,
        "-m",
        "sh",
        "-c",
        "mount --bind /proc/sys/net /proc/sys/net && mount -o remount,bind,rw /proc/sys/net",
    )
    # What udev does at boot, which a container has not: names by MAC, as the host's .link files say.
    links = [path.read_text("utf-8") for path in Path(f"/proc/{pid}/root/etc/systemd/network").glob("10-gpuyard-*.link")]
    names = dict(
        re.search(r"PermanentMACAddress=(\S+)\s.*^Name=(\S+)", text, re.DOTALL | re.MULTILINE).groups() for text in links
    )
    for index, port in enumerate(told["gpuyard_interfaces"]):
        ours = f"h{pid}p{index}"
        subprocess.run([*here, "link", "delete", ours], capture_output=True, check=False)
        theirs = names.get(port["mac"], f"eth{index}")
        run(*here, "link", "add", ours, "type", "veth", "peer", "name", theirs, "address", port["mac"], "netns", pid)
        run(*here, "link", "set", ours, "up", "mtu", "9216", "alias", f"{port['peer']} {port['peer_port']}")
        gateway = f"{port['gateway']}/{port['address'].partition('/')[2]}"
        if port["network"] == "oob":  # one subnet for all ports of the leaf, so the leaf bridges
            subprocess.run([*here, "link", "add", "oob", "up", "type", "bridge"], capture_output=True, check=False)
            run(*here, "link", "set", ours, "master", "oob")
            run(*here, "address", "replace", gateway, "dev", "oob")
        elif port["gateway"]:
            run(*here, "address", "replace", gateway, "dev", ours)
        if port["network"] == "oob" and fresh:
            run(*there, "link", "set", theirs, "up")
            run(*there, "address", "add", port["address"], "dev", theirs)
            run(*there, "route", "add", "default", "via", port["gateway"])
    # udev applies these where an interface appears; a container has no udev.
    settings = "/lib/systemd/systemd-sysctl /etc/sysctl.d/90-gpuyard-network.conf"
    subprocess.run(["nsenter", "-t", pid, "-a", "sh", "-c", settings], capture_output=True, check=False)
    for service in told["gpuyard_services"]:
        ways = [port["address"].partition("/")[0] for port in told["gpuyard_interfaces"] if port["name"] in service["ports"]]
        hops = [word for way in ways for word in ("nexthop", "via", way)]
        run(*here, "route", "replace", service["address"], *hops)
        other = ipaddress.ip_network(service["route"])[-2]  # somebody else in the range, on the leafs' side
        run(*here, "address", "replace", f"{other}/32", "dev", "lo")


def run(*command: str) -> str:
    """Run a command that must not fail, and return what it says."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    main()

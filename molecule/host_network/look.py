"""Compare the network that the kernel has with what the plan says of this host; print what differs, a line each.

Reads the plan's variables of the host from standard input. It runs on the host, with Python alone.
"""

import json
import subprocess
import sys
from pathlib import Path


def main() -> int:
    """Return 1 where something differs."""
    told = json.load(sys.stdin)
    links = {link["ifname"]: link for link in ask("address", "show")}
    rules = {(rule.get("src"), rule.get("table")) for rule in ask("-4", "rule", "show")}
    wrong = []
    for port in told["gpuyard_interfaces"]:
        name, here = port["name"], port["address"].partition("/")[0]
        link = links.get(name, {})
        facts = {
            "MAC": (link.get("address"), port["mac"]),
            "MTU": (link.get("mtu"), port["mtu_bytes"]),
            "addresses": ([f"{each['local']}/{each['prefixlen']}" for each in link.get("addr_info", [])], [port["address"]]),
        }
        if port["table"]:
            # From this port's address everything leaves by this port, whatever the target.
            (way,) = ask("-4", "route", "get", "10.65.255.1", "from", here)
            facts["rule"] = ((here, str(port["table"])) in rules, True)
            facts["way"] = ((way.get("gateway"), way.get("dev")), (port["gateway"], name))
        if port["route"] and port["route"] != "0.0.0.0/0":
            routes = ask("-4", "route", "show", port["route"])
            facts["route"] = ([(each.get("gateway"), each.get("dev")) for each in routes], [(port["gateway"], name)])
        for setting, value in {"arp_ignore": "1", "arp_announce": "2", "rp_filter": "2"}.items():
            path = Path("/proc/sys/net/ipv4/conf", name, setting)
            facts[setting] = (path.read_text().strip() if path.exists() else None, value)
        wrong += [f"{name}: {what} is {is_} and not {shall}" for what, (is_, shall) in facts.items() if is_ != shall]
    for service in told["gpuyard_services"]:
        for destination in (service["route"], *service["beyond"]):
            routes = ask("-4", "route", "show", destination)
            hops = sorted((hop["gateway"], hop["dev"]) for each in routes for hop in each.get("nexthops", ()))
            if hops != sorted(zip(service["gateways"], service["ports"], strict=True)):
                wrong.append(f"{destination} goes over {hops}")
            if {each.get("prefsrc") for each in routes} != {service["address"].partition("/")[0]}:
                wrong.append(f"{destination} is not reached from {service['address']}")
        if service["address"] not in [f"{each['local']}/{each['prefixlen']}" for each in links["lo"]["addr_info"]]:
            wrong.append(f"lo has no {service['address']}")
    sys.stdout.write("\n".join(wrong))
    return 1 if wrong else 0


def ask(*words: str) -> list[dict]:
    """Return what iproute2 says."""
    done = subprocess.run(["ip", "-json", *words], capture_output=True, text=True, check=False)
    return json.loads(done.stdout or "[]")


if __name__ == "__main__":
    sys.exit(main())

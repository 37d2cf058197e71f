"""A Ceph that does not exist: what it would answer if all were as planned. A double, for the comparison alone."""

from cluster_model.render.ceph.objects import describe_pool, list_folders, list_options, list_users
from cluster_model.render.ceph.spec import locate_host

VERSION = "ceph version 16.2.15 (618f440892089921c3e944a991122ddc44e60516) pacific (stable)"
KIB = 15_000_000_000
MANAGERS_OWN = {
    "pool_name": "device_health_metrics",
    "type": 1,
    "size": 3,
    "min_size": 2,
    "pg_num": 1,
    "pg_num_target": 1,
    "pg_autoscale_mode": "on",
    "crush_rule": 0,
    "application_metadata": {"mgr_devicehealth": {}},
}


def tell_ceph(plan, fill=0.3):
    """Return the answers of a Ceph that is as planned, by question."""
    ceph = plan.ceph
    numbers = {}
    nodes = {}

    def make(kind, name, **more):
        if (kind, name) not in numbers:
            numbers[kind, name] = -1 - len(numbers)
            nodes[kind, name] = {"id": numbers[kind, name], "name": name, "type": kind, "children": [], **more}
        return nodes[kind, name]

    osds = []
    for host in ceph.hosts:
        chain = [*locate_host(host).items(), ("host", host.name)]
        for (kind, name), (upper, above) in zip(chain[1:], chain, strict=False):
            node = make(kind, name)
            children = make(upper, above)["children"]
            if node["id"] not in children:
                children.append(node["id"])
        for _ in range(host.osds):
            number = len(osds)
            nodes["host", host.name]["children"].append(number)
            about = {"type": "osd", "status": "up", "reweight": 1.0, "crush_weight": 14.0, "device_class": host.device_class}
            osds.append({"id": number, "name": f"osd.{number}", **about})
    pools, rules = [MANAGERS_OWN], [_rule(0, "replicated_rule", "default", "host")]
    for number, pool in enumerate(ceph.all_pools, 1):
        wanted = describe_pool(pool, ceph.failure_domain)
        rules.append(
            _rule(number, pool.name, f"default~{pool.device_class}", ceph.failure_domain, "indep" if pool.k else "firstn")
        )
        pools.append(
            {"pool_name": pool.name, "pool_id": number, "type": 3 if pool.k else 1, "size": pool.size, "min_size": pool.min_size,
             "pg_num": pool.pgs, "pg_num_target": pool.pgs, "pg_autoscale_mode": "off",
             "crush_rule": number,
             "application_metadata": {wanted["application"]: {}}}
        )  # fmt: skip
    mons = [
        {"rank": rank, "name": one.name,
         "public_addrs": {"addrvec": [{"type": f"v{2 - n}", "addr": f"{one.address}:{port}", "nonce": 0}
                                      for n, port in enumerate((3300, 6789))]}}
        for rank, one in enumerate(ceph.monitors)
    ]  # fmt: skip
    return {
        "status": {"fsid": ceph.fsid, "health": {"status": "HEALTH_OK", "checks": {}, "mutes": []},
                   "pgmap": {"pgs_by_state": [{"state_name": "active+clean", "count": 10240}]}},
        "quorum": {"quorum_names": [one.name for one in ceph.monitors], "monmap": {"mons": mons}},
        "clocks": {"time_skew_status": {one.name: {"skew": 0.0, "latency": 0.0} for one in ceph.monitors}},
        "managers": {"available": True, "active_name": "control-001", "num_standby": len(ceph.managers) - 1},
        "versions": {kind: {VERSION: 3} for kind in ("mon", "mgr", "osd")} | {"mds": {}, "overall": {VERSION: 9}},
        "tree": {"nodes": [*nodes.values(), *osds], "stray": []},
        "use": {"nodes": [{"name": osd["name"], "kb": KIB, "kb_used": round(KIB * fill)} for osd in osds]},
        "pools": pools,
        "rules": rules,
        "options": [{"section": each["who"], "mask": "", **each} for each in list_options(ceph)],
        "users": {"client.admin": {"mon": "allow *"}} | {user["name"]: _rights(plan, user) for user in list_users(plan)},
        "files": _files(ceph, {pool["pool_name"]: pool.get("pool_id", 0) for pool in pools}),
        **({"services": _services(ceph)} if ceph.store else {}),
    }  # fmt: skip


def _rights(plan, user):
    """Return a user's rights, with those to its folders by a path that Ceph drew, and in a namespace of the shorter form."""
    folders = [each for each in list_folders(plan) if user["name"] == f"client.{each['name']}"]
    rights = [user["caps"]["osd"]] if user["caps"]["osd"] else []
    rights += [f"allow rw pool={each['pool']} namespace=fsvolumens_{each['name']}" for each in folders]
    ways = [f"allow rw fsname={each['filesystem']} path=/volumes/{each['name']}/{each['name']}/0-f" for each in folders]
    return user["caps"] | {"osd": ", ".join(rights)} | ({"mds": ", ".join(ways)} if ways else {})


def _files(ceph, numbers):
    filesystems, standbys = [], []
    for files in ceph.filesystems:
        *servers, spare = files.daemons
        info = {f"gid_{rank}": {"name": name, "rank": rank, "state": "up:active"} for rank, name in enumerate(servers)}
        pools = [numbers[pool] for pool in files.pools]
        about = {"fs_name": files.name, "max_mds": files.active, "metadata_pool": numbers[files.metadata.name]}
        filesystems.append({"id": len(filesystems) + 1, "mdsmap": {**about, "data_pools": pools, "info": info}})
        standbys.append({"name": spare, "rank": -1, "state": "up:standby"})
    return {"epoch": 9, "filesystems": filesystems, "standbys": standbys}


def _services(ceph):
    where = {"realm_name": ceph.store.realm, "zone_name": ceph.store.zone}
    daemons = {str(4000 + number): {"metadata": {"id": name, **where}} for number, name in enumerate(ceph.store.daemons)}
    return {"services": {"rgw": {"daemons": daemons}}}


def _rule(number, name, take, domain, how="firstn"):
    tries = [{"op": "set_chooseleaf_tries", "num": 5}] if how == "indep" else []
    steps = [{"op": "take", "item": -1, "item_name": take}, {"op": f"chooseleaf_{how}", "num": 0, "type": domain}, {"op": "emit"}]
    return {"rule_id": number, "rule_name": name, "steps": tries + steps}

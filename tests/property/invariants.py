"""What holds of every plan, whatever it is the plan of. Each function asserts one law."""

from collections import Counter, defaultdict
from ipaddress import ip_interface, ip_network
from itertools import combinations, pairwise

from cluster_model.catalogue.cages import switch_cages
from cluster_model.names import format_name, parse_name

RACK_UNIT_M = 0.04445


def check_all(plan, cluster, catalogue):
    """Hold a plan against every law below."""
    check_names(plan)
    check_addresses(plan, cluster)
    check_asns(plan)
    check_ports(plan, catalogue)
    check_ends(plan, catalogue)
    check_rails(plan)
    check_pairs(plan)
    check_border(plan, cluster)
    check_budgets(plan, catalogue)
    check_media(plan, cluster, catalogue)
    check_networks(plan, cluster)
    check_positions(plan, cluster)
    check_power(plan)
    check_services(plan)
    check_pods(plan)
    check_oob(plan)
    check_bom(plan)


def devices(plan):
    return [*plan.servers, *plan.switches, *plan.pdus]


def check_names(plan):
    """Assert that names are unique and read back; so are cable labels."""
    names = [device.name for device in devices(plan)]
    assert len(names) == len(set(names))
    for name in names:
        assert format_name(parse_name(name)) == name
    labels = [cable.label for cable in plan.cables]
    assert len(labels) == len(set(labels))


def check_addresses(plan, cluster):
    """Assert that no address is used twice; /31 pairs agree at both ends; everything lies in its network's pool and aggregate."""
    owners = {}

    def own(address, who):
        assert owners.setdefault(address.partition("/")[0], who) == who, (address, owners[address.partition("/")[0]], who)

    pools = {network.name: ip_network(network.pool) for network in plan.networks if network.pool}
    for switch in plan.switches:
        if switch.loopback:
            own(switch.loopback, switch.name)
            assert ip_interface(switch.loopback).ip in pools[switch.network]
        for port in switch.ports:
            if port.address:
                own(port.address, f"{switch.name}:{port.name}")
                mine, theirs = ip_interface(port.address), ip_interface(f"{port.peer_address}/31")
                assert mine.network == theirs.network and mine.ip != theirs.ip and mine.network.prefixlen == 31
                assert mine.network.subnet_of(pools[switch.network])
        for vlan in switch.vlans:
            own(vlan.address, f"{switch.name}:{vlan.name}")
        if switch.management:
            own(switch.management.address, f"{switch.name}:mgmt")
        spans = [ip_network(prefix) for prefix in switch.originates]
        assert not any(a.overlaps(b) for a, b in combinations(spans, 2))
        hosts = [port.peer_address for port in switch.ports if port.use == "host" and port.peer_address]
        assert all(any(ip_interface(host).ip in span for span in spans) for host in hosts), switch.name
    for server in plan.servers:
        for port in server.ports:
            if port.address:
                own(port.address, f"{server.name}:{port.name}")
                own(port.gateway, f"{port.peer}:{port.peer_port}" if port.network != "oob" else f"{port.peer}:host")
                assert ip_interface(port.gateway).ip in ip_interface(port.address).network
                if port.network == "compute":
                    assert ip_interface(port.address).network.subnet_of(ip_network(port.route))
        if server.bmc:
            own(server.bmc.address, f"{server.name}:bmc")
        for service in server.services:
            own(service.address, f"{server.name}:{service.purpose}")
    for pdu in plan.pdus:
        if pdu.management:
            own(pdu.management.address, pdu.name)
    routes = defaultdict(set)
    for switch in plan.switches:
        for prefix in switch.originates:
            routes[prefix].add(switch.name)
    spans = sorted((ip_network(prefix) for prefix in routes), key=lambda span: (span.network_address, span.prefixlen))
    pairs = {f"{leaf.name}": (leaf.network, leaf.unit) for leaf in plan.switches}
    for prefix, names in routes.items():  # an aggregate is one leaf's; the address of an MLAG pair's tunnels is both's
        shared = prefix.endswith("/32") and len({pairs[name] for name in names}) == 1
        assert len(names) == (2 if shared else 1), (prefix, names)
    assert not any(a.overlaps(b) for a, b in pairwise(spans))
    for network in plan.networks:
        if network.pool:
            top = [ip_network(part.prefix) for part in network.slices if part.name.split()[0] not in {"plane", "rail"}]
            assert all(part.subnet_of(pools[network.name]) for part in top)
            assert not any(a.overlaps(b) for a, b in combinations(top, 2)), network.slices


def check_asns(plan):
    """Assert that a leaf has its own ASN, a pod's spines share one, a plane's cores share one; no shortest path repeats any."""
    leafs, spines, cores = {}, defaultdict(set), defaultdict(set)
    for switch in plan.switches:
        if not switch.asn:
            assert plan.network(switch.network).technology == "infiniband"
            continue
        assert 1 <= switch.asn <= 4_294_967_294
        if switch.is_edge:
            assert switch.asn not in leafs
            leafs[switch.asn] = switch.name
        elif switch.role == "spine":
            spines[switch.asn].add((switch.network, switch.plane, switch.pod))
        else:
            cores[switch.asn].add((switch.network, switch.plane))
    assert all(len(where) == 1 for where in [*spines.values(), *cores.values()])
    assert not set(leafs) & set(spines) and not set(leafs) & set(cores) and not set(spines) & set(cores)
    by_place = defaultdict(set)
    for switch in plan.switches:
        if switch.asn and not switch.is_edge:
            by_place[switch.network, switch.role, switch.plane, switch.pod if switch.role == "spine" else 0].add(switch.asn)
    assert all(len(asns) == 1 for asns in by_place.values())
    for switch in plan.switches:
        for port in switch.ports:
            if port.use == "fabric":
                assert port.peer_asn == plan.switch(port.peer).asn and (port.peer_asn != switch.asn or not switch.asn)


def check_ports(plan, catalogue):
    """Assert that a port is used once; its cage has the mode it needs; the modes list every cage of the panel.

    A cage for fabric managers is listed in its native mode, as the panel shows it, and takes nothing but them.
    """
    for switch in plan.switches:
        cages = {cage.number: cage for cage in switch_cages(catalogue.device(switch.model))}
        modes = {mode.cage: mode for mode in switch.modes}
        assert list(modes) == list(cages), switch.name
        names = Counter(port.name for port in switch.ports)
        seats = Counter((port.cage, port.sub) for port in switch.ports)
        assert not [name for name, used in names.items() if used > 1]
        assert not [seat for seat, used in seats.items() if used > 1]
        for mode in switch.modes:
            cage = cages[mode.cage]
            free = cage.splittable and not cage.for_managers
            known = [(m.count, m.speed_gbps) for m in (cage.modes if free else cage.modes[:1])]
            assert (mode.count, mode.speed_gbps) in known
            assert mode.native == ((mode.count, mode.speed_gbps) == known[0])
        for port in switch.ports:
            mode = modes[port.cage]
            assert port.sub < mode.count and port.speed_gbps == mode.speed_gbps, (switch.name, port)
            if cages[port.cage].for_managers:
                assert port.use == "host" and plan.server(port.peer).role == "fabric-manager", (switch.name, port)
        assert list(switch.ports) == sorted(switch.ports, key=lambda port: (port.cage, port.sub))
    for server in plan.servers:
        assert len({port.name for port in server.ports}) == len(server.ports), server.name
        assert len({(port.cage, port.sub, port.name) for port in server.ports}) == len(server.ports)
        known = {port.name: port for port in catalogue.device(server.model).gpuyard.network.ports}
        known |= {port.infiniband_name: port for port in known.values() if port.infiniband_name}
        for port in server.ports:
            origin = known.get(port.name) or known[port.name.rpartition("s")[0]]
            assert port.cage == origin.cage
            speeds = {origin.speed_gbps, *origin.speeds_gbps, *(int(mode.split("x")[1]) for mode in origin.split)}
            assert port.speed_gbps in speeds


def check_ends(plan, catalogue):
    """Assert that every cable's ends exist, name each other and run at its speed; every used port has exactly one cable."""
    ports = {}
    for switch in plan.switches:
        for port in switch.ports:
            ports[switch.name, port.name] = (port.peer, port.peer_port, port.speed_gbps)
        if switch.management:
            ports[switch.name, "mgmt"] = (switch.management.peer, switch.management.peer_port, 1)
    for server in plan.servers:
        for port in server.ports:
            ports[server.name, port.name] = (port.peer, port.peer_port, port.speed_gbps)
        if server.bmc:
            ports[server.name, "bmc"] = (server.bmc.peer, server.bmc.peer_port, 1)
    for pdu in plan.pdus:
        ports[pdu.name, "net"] = (pdu.management.peer, pdu.management.peer_port, 1)
    ends = Counter()
    for cable in plan.cables:
        a, b = (cable.a, cable.a_port), (cable.b, cable.b_port)
        assert ports[a] == (*b, cable.speed_gbps), cable
        assert ports[b] == (*a, cable.speed_gbps), cable
        ends.update((a, b))
    assert all(used == 1 for used in ends.values())
    assert set(ends) == set(ports)
    for server in plan.servers:
        assert (server.bmc is not None) == catalogue.device(server.model).gpuyard.bmc
    for switch in plan.switches:
        if switch.network != "oob":
            assert (switch.management is not None) == catalogue.device(switch.model).gpuyard.management


def check_rails(plan):
    """Assert that rail k of a host lands on a leaf of its own unit that lists rail k, the same for the whole unit."""
    where = defaultdict(set)
    for server in plan.servers:
        for port in server.ports:
            if port.rail < 0:
                continue
            leaf = plan.switch(port.peer)
            assert leaf.role == "leaf" and port.rail in leaf.rails and leaf.unit == server.unit and leaf.plane == port.plane
            where[server.unit, port.plane, port.rail].add(leaf.name)
            seat = next(p for p in leaf.ports if p.name == port.peer_port)
            assert seat.rail == port.rail
    network = plan.network("compute")
    if network is not None and network.design == "rail-optimized":
        sides = Counter()
        for server in plan.servers:
            per_rail = Counter((port.plane, port.rail) for port in server.ports if port.rail >= 0)
            sides.update(per_rail.values())
        assert len(sides) <= 1
        side_count = next(iter(sides), 1)
        assert all(len(leafs) == side_count for leafs in where.values())


def check_pairs(plan):
    """Assert that a server with two business ports ends on all leafs of one unit, under one bond number that is its alone.

    MLAG pairs are joined by two cables in cages of their own, and announce one address together.
    """
    network = plan.network("business")
    if network is None:
        return
    numbers = defaultdict(set)
    for server in plan.servers:
        ends = []
        for port in server.ports:
            if port.network == "business":
                assert not port.address and not port.gateway
                leaf = plan.switch(port.peer)
                ends.append((leaf, next(p for p in leaf.ports if p.name == port.peer_port)))
        if not ends:
            continue
        assert len({(leaf.unit, port.bond) for leaf, port in ends}) == 1 and ends[0][1].bond > 0
        assert len({leaf.name for leaf, _ in ends}) == min(len(ends), network.leafs_per_unit)
        assert not any(port.address or port.vlan for _, port in ends)
        seat = (ends[0][0].unit, ends[0][1].bond)
        assert not numbers[seat], (server.name, numbers[seat])
        numbers[seat].add(server.name)
    leafs = [switch for switch in plan.switches if switch.network == "business" and switch.role == "leaf"]
    for leaf in leafs:
        peers = [port for port in leaf.ports if port.use == "peer_link"]
        assert len(peers) == len({port.cage for port in peers}) == (2 if network.homing == "mlag" else 0)
        assert {plan.switch(port.peer).unit for port in peers} <= {leaf.unit} and leaf.name not in {port.peer for port in peers}
        others = {port.cage for port in leaf.ports if port.use != "peer_link"}
        assert others.isdisjoint(port.cage for port in peers)
        assert len(leaf.originates) == (1 if network.homing == "mlag" else 0)
    assert network.homing == "single" or network.leafs_per_unit == 2


def check_border(plan, cluster):
    """Assert that the border has as many leafs as a unit, no hosts, the last ports of the spines, and its peers as told."""
    business, network = cluster.networks.business, plan.network("business")
    borders = [switch for switch in plan.switches if switch.role == "border"]
    if business is None or business.border is None:
        assert not borders
        return
    assert len(borders) == network.leafs_per_unit == network.borders
    for switch in borders:
        assert {port.use for port in switch.ports} <= {"fabric"}
    for spine in plan.switches:
        if spine.network == "business" and spine.role == "spine" and network.tiers == 2:
            below = [plan.switch(port.peer).role for port in spine.ports]
            assert below == sorted(below, key=("leaf", "border").index), spine.name


def check_budgets(plan, catalogue):
    """Assert that no switch exceeds its panel, and links up are equal over the spines of the pod and the cores of the group."""
    for switch in plan.switches:
        lanes = sum(max(m.count * m.speed_gbps for m in cage.modes) for cage in switch_cages(catalogue.device(switch.model)))
        assert sum(port.speed_gbps for port in switch.ports) <= lanes
    for network in plan.networks:
        own = [switch for switch in plan.switches if switch.network == network.name]
        by_name = {switch.name: switch for switch in own}
        for switch in own:
            ups = Counter(
                port.peer
                for port in switch.ports
                if port.use == "fabric"
                and by_name[port.peer].role != "leaf"
                and by_name[port.peer].role != switch.role
                and (switch.role, by_name[port.peer].role) in {("leaf", "spine"), ("border", "spine"), ("spine", "core")}
            )
            if switch.is_edge:
                assert len(ups) == (network.spines_per_pod if network.tiers > 1 else 0)
                assert sum(ups.values()) == (network.uplinks if network.tiers > 1 else 0)
                assert all(by_name[peer].pod == switch.pod and by_name[peer].plane == switch.plane for peer in ups)
            elif switch.role == "spine" and network.tiers == 3:
                assert len(ups) == network.cores_per_group and sum(ups.values()) == network.spine_uplinks
                assert all(by_name[peer].pod == switch.index and by_name[peer].plane == switch.plane for peer in ups)
            assert len(set(ups.values())) <= 1, (switch.name, ups)


def check_media(plan, cluster, catalogue):
    """Assert that one transceiver or plug per cage; modes it has; a reach that suffices; lengths the geometry needs."""
    media, geometry = catalogue.media, cluster.racks.geometry
    racks = {rack.name: rack for rack in plan.racks}
    places = {device.name: (device.rack, getattr(device, "u", 1)) for device in devices(plan)}
    cages, modes = {}, {}
    for switch in plan.switches:
        for mode in switch.modes:
            modes[switch.name, mode.cage] = (mode.form_factor, f"{mode.count}x{mode.speed_gbps}")
        cages.update({(switch.name, port.name): port.cage for port in switch.ports})
    for server in plan.servers:
        cages.update({(server.name, port.name): port.cage for port in server.ports})
    plugs = defaultdict(set)
    bundles = defaultdict(set)
    for cable in plan.cables:
        (a_rack, a_u), (b_rack, b_u) = places[cable.a], places[cable.b]
        a, b = racks[a_rack], racks[b_rack]
        if a_rack == b_rack:
            need_m = abs(a_u - b_u) * RACK_UNIT_M + geometry.slack_m
        else:
            floor_m = abs(a.x_m - b.x_m) + abs(a.y_m - b.y_m)
            need_m = floor_m + (a.height_u - a_u + b.height_u - b_u) * RACK_UNIT_M + 2 * geometry.tray_height_m + geometry.slack_m
        assert cable.length_m >= need_m - 1e-6, cable
        a_seat, b_seat = cages.get((cable.a, cable.a_port)), cages.get((cable.b, cable.b_port))
        if cable.a_optic:
            left, right = media.transceivers[cable.a_optic], media.transceivers[cable.b_optic]
            assert left.standard == right.standard == cable.medium
            assert min(left.reach_m, right.reach_m) >= cable.length_m
            plug = {(cable.a, a_seat): cable.a_optic, (cable.b, b_seat): cable.b_optic}
            for (name, seat), optic in plug.items():
                if (name, seat) in modes:
                    form_factor, mode = modes[name, seat]
                    assert media.transceivers[optic].form_factor == form_factor and mode in media.transceivers[optic].modes
                plugs[name, seat].add(optic)
        else:
            kind = media.cables[cable.medium]
            assert kind.reach_m >= cable.length_m
            for name, seat in ((cable.a, a_seat), (cable.b, b_seat)):
                if seat is not None:
                    plugs[name, seat].add(f"{cable.medium} {cable.assembly}")
                if (name, seat) in modes:
                    assert modes[name, seat] in {(end.form_factor, end.mode) for end in (kind.a, kind.b)}
            bundles[cable.assembly].add((cable.medium, cable.length_m))
    mixed = {cage: plug for cage, plug in plugs.items() if len(plug) > 1}
    assert not mixed, mixed
    assert all(len(kinds) == 1 for kinds in bundles.values()), bundles
    check_assemblies(plan, catalogue, cages)


def check_assemblies(plan, catalogue, cages):
    """Assert that an attached cable has no more strands than its modes say, and one plug per cage."""
    strands = defaultdict(list)
    for cable in plan.cables:
        if not cable.a_optic:
            strands[cable.assembly].append(cable)
    for assembly, parts in strands.items():
        kind = catalogue.media.cables[parts[0].medium]
        most = max(int(end.mode.split("x")[0]) for end in (kind.a, kind.b))
        assert len(parts) <= most, (assembly, parts)
        near = {(cable.a, cages.get((cable.a, cable.a_port), cable.a_port)) for cable in parts}
        far = {(cable.b, cages.get((cable.b, cable.b_port), cable.b_port)) for cable in parts}
        twin = kind.a.mode == kind.b.mode
        assert len(near) == 1 if twin else min(len(near), len(far)) == 1
        assert not twin or len(far) == 1
        if parts[0].kind == "host_leaf" and parts[0].network == "compute":
            assert len(near) == len(parts), "a DAC ties two ports of a server"


def check_networks(plan, cluster):
    """Assert that counts and sums of a network's record are those of its switches and cables."""
    for network in plan.networks:
        own = [switch for switch in plan.switches if switch.network == network.name]
        cables = [cable for cable in plan.cables if cable.network == network.name]
        roles = Counter(switch.role for switch in own)
        assert (network.leafs, network.spines, network.cores) == (roles["leaf"], roles["spine"], roles["core"])
        assert network.borders == roles["border"]
        kinds = Counter(cable.kind for cable in cables)
        assert network.cables == {kind: kinds[kind] for kind in network.cables} and sum(kinds.values()) == len(cables)
        speeds = Counter()
        for cable in cables:
            speeds[cable.kind] += cable.speed_gbps
        assert network.host_bandwidth_gbps == speeds["host_leaf"]
        assert network.leaf_spine_bandwidth_gbps == speeds["leaf_spine"]
        assert network.spine_core_bandwidth_gbps == speeds["spine_core"]
        assert network.leaf_spine_cables == (network.leafs + network.borders) * network.uplinks
        assert network.spine_core_cables == network.spines * network.spine_uplinks
        assert network.bisection_gbps <= speeds["host_leaf"] // 2
        assert network.leafs > 0 and network.units <= network.planned_units
        intent = getattr(cluster.networks, network.name)
        if network.tiers > 1 and intent.uplinks is None and network.name != "oob":
            assert network.oversubscription <= intent.oversubscription + 1e-3
        if network.tiers > 1:
            up_gbps = network.uplinks * network.fabric_speed_gbps
            for leaf in own:
                if leaf.role == "leaf" and network.name != "oob":
                    hosts = sum(
                        p.speed_gbps for p in leaf.ports if p.use == "host" and plan.server(p.peer).role != "fabric-manager"
                    )
                    assert hosts / up_gbps <= network.oversubscription + 1e-3
        else:
            assert network.oversubscription == 0 and network.uplinks == 0


def check_positions(plan, cluster):
    """Assert that nothing overlaps in a rack, or stands above it or in a blocked one; the racks are those in use."""
    racks = {rack.name: rack for rack in plan.racks}
    used = defaultdict(set)
    for device in [*plan.servers, *plan.switches]:
        rack = racks[device.rack]
        units = set(range(device.u, device.u + device.height_u))
        assert not rack.blocked and min(units) >= 1 and max(units) <= rack.height_u
        assert not units & used[device.rack], (device.name, device.rack)
        used[device.rack] |= units
    for name, group in cluster.servers.items():
        own = [server for server in plan.servers if server.group == name]
        assert len(own) == group.count
        if group.per_rack and not group.place:
            assert max(Counter(server.rack for server in own).values()) <= group.per_rack


def check_power(plan):
    """Assert that a rack's load is the sum of its devices, on a PDU per feed; it fits where limits hold or a cap makes them."""
    loads, optics = Counter(), Counter()
    for device in [*plan.servers, *plan.switches]:
        loads[device.rack] += device.power_w + device.optics_w
        optics[device.rack] += device.optics_w
    assert set(loads) == {power.rack for power in plan.power}
    racks = {rack.name: rack for rack in plan.racks}
    fed = Counter(pdu.rack for pdu in plan.pdus)
    assert fed == {name: racks[name].feeds for name in loads if racks[name].pdu}
    for power in plan.power:
        rack = racks[power.rack]
        assert abs(power.load_w - loads[power.rack]) < 0.2 and abs(power.optics_w - optics[power.rack]) < 0.2
        assert (power.limit_w, power.feed_limit_w, power.feeds) == (rack.power_w, rack.feed_w, rack.feeds)
        assert power.feed_load_w <= power.load_w + 0.1
        assert power.feed_load_w >= power.load_w / power.feeds - 0.1
        within = power.load_w <= power.limit_w + 0.05 and power.feed_load_w <= power.feed_limit_w + 0.05
        servers = [server for server in plan.servers if server.rack == power.rack and server.gpus]
        if within:
            assert power.fits
        if power.fits and not power.gpu_cap_w:
            assert within
        if power.gpu_cap_w:
            assert servers
        if power.feeds > 1 and power.fits_feed_lost and not power.gpu_cap_feed_lost_w:
            assert power.feed_lost_load_w <= power.feed_limit_w + 0.05
        if not power.fits:
            assert not power.gpu_cap_w
        if power.gpu_cap_w and power.gpu_cap_feed_lost_w:
            assert power.gpu_cap_feed_lost_w <= power.gpu_cap_w
        for server in servers:
            assert (server.gpu_cap_w, server.gpu_cap_feed_lost_w) == (power.gpu_cap_w, power.gpu_cap_feed_lost_w)


def check_services(plan):
    """Assert that a service address has a route on every leaf its host is plugged into, over that host's port."""
    routes = {(switch.name, route.prefix): route for switch in plan.switches for route in switch.service_routes}
    seen = 0
    for server in plan.servers:
        ports = {port.name: port for port in server.ports}
        for service in server.services:
            assert service.ports == tuple(port.name for port in server.ports if port.network == service.network)
            assert service.gateways == tuple(ports[name].gateway for name in service.ports)
            assert ip_interface(service.address).network.subnet_of(ip_network(service.route))
            for leaf in {ports[name].peer for name in service.ports}:
                assert routes[leaf, service.address].server == server.name
            seen += len(service.ports)
    assert seen == sum(len(switch.service_routes) for switch in plan.switches)


def check_pods(plan):
    """Assert that leafs know the nodes of Kubernetes, by address and AS number and as no other host, where these tell of pods."""
    asked = plan.kubernetes
    nodes = {node.name for node in asked.nodes}
    known = {}
    for switch in plan.switches:
        for port in switch.ports:
            if port.use == "host" and port.peer_asn:
                known[port.peer, port.peer_port] = (switch.name, port.name, port.peer_address, port.peer_asn)
    expected = {}
    for server in plan.servers:
        for port in server.ports:
            if asked.node_asn and server.name in nodes and port.network == "storage":
                expected[server.name, port.name] = (port.peer, port.peer_port, port.address.partition("/")[0], asked.node_asn)
    assert known == expected
    assert bool(asked.node_asn) == (asked.pod_routing == "bgp" and bool(nodes))
    speakers = {name for name, _ in expected}
    ends = {network.name: part.prefix for network in plan.networks for part in network.slices if part.name == "hosts"}
    for server in plan.servers:
        for service in server.services:
            pods = (asked.pod_pool,) if server.name in speakers else ()
            is_first = bool(nodes) and service.purpose == "storage"
            assert service.beyond == ((*pods, ends[service.network]) if is_first else ())


def check_oob(plan):
    """Assert that every out-of-band address lies in a VLAN of the leaf it is plugged into, with that VLAN's gateway."""
    vlans = {switch.name: {vlan.name: vlan for vlan in switch.vlans} for switch in plan.switches}
    plugged = [(server.bmc, "bmc") for server in plan.servers if server.bmc]
    plugged += [(switch.management, "switch") for switch in plan.switches if switch.management]
    plugged += [(pdu.management, "bmc") for pdu in plan.pdus]
    for at, segment in plugged:
        vlan = vlans[at.peer][segment]
        assert vlan.address.partition("/")[0] == at.gateway
        assert ip_interface(at.address).network == ip_network(vlan.prefix)
        assert ip_interface(at.address).ip not in {vlan_ends(vlan)[0], vlan_ends(vlan)[1]}
        seat = next(port for port in plan.switch(at.peer).ports if port.name == at.peer_port)
        assert seat.vlan == vlan.id and seat.peer_address == at.address.partition("/")[0]


def vlan_ends(vlan):
    span = ip_network(vlan.prefix)
    return span.network_address, span.broadcast_address


def check_bom(plan):
    """Assert that the bill has every device once, a fibre per optical cable, and a transceiver per filled cage."""
    counts = Counter()
    for line in plan.bom:
        counts[line.kind] += line.count
    assert counts["server"] == len(plan.servers)
    assert counts["switch"] == len(plan.switches)
    assert counts["pdu"] == len(plan.pdus)
    assert counts["fibre"] == sum(1 for cable in plan.cables if cable.a_optic)
    assert counts["cable"] == len({cable.assembly for cable in plan.cables if not cable.a_optic})
    cages = {(switch.name, port.name): port.cage for switch in plan.switches for port in switch.ports}
    cages |= {(server.name, port.name): port.cage for server in plan.servers for port in server.ports}
    filled = {
        (name, cages[name, port])
        for cable in plan.cables
        if cable.a_optic
        for name, port in ((cable.a, cable.a_port), (cable.b, cable.b_port))
    }
    assert counts["transceiver"] == len(filled)

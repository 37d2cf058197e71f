"""Gear that does not exist: what devices would report if cables lay as told. A double, for the comparison alone."""

from __future__ import annotations

from dataclasses import replace

from cluster_model.verify.observed import Neighbour, Observed, ObservedDevice, ObservedPort

MUTE = {"bmc", "net"}
"""Ports of what nobody logs in to."""


class Floor:
    """A floor of devices whose cables can be moved. It begins as the plan says.

    `link[end]` is what the end leads to, both ways; `off` are devices without power.
    """

    def __init__(self, plan):
        self.plan = plan
        self.link = {}
        for cable in plan.cables:
            self.connect((cable.a, cable.a_port), (cable.b, cable.b_port))
        self.off = set()
        self.changes = {}
        self.extra = {}

    def connect(self, one, other):
        self.link[one], self.link[other] = other, one

    def cut(self, end):
        other = self.link.pop(end, None)
        if other is not None:
            self.link.pop(other, None)

    def permute(self, cables, order):
        """Plug the far end of each cable into the place of the far end of another."""
        for cable in cables:
            self.cut((cable.a, cable.a_port))
        for cable, index in zip(cables, order, strict=True):
            self.connect((cable.a, cable.a_port), (cables[index].b, cables[index].b_port))

    def change(self, end, **values):
        self.changes[end] = values

    def observe(self):
        names = [server.name for server in self.plan.servers] + [switch.name for switch in self.plan.switches]
        speeds, fecs, ports = {}, {}, {name: {} for name in names}
        for cable in self.plan.cables:
            for device, port in ((cable.a, cable.a_port), (cable.b, cable.b_port)):
                speeds[device, port] = cable.speed_gbps
                fecs[device, port] = {"rs": "rs", "fc": "baser", "none": "off"}.get(cable.fec.partition("-")[0], "")
        for end in {*speeds, *self.link}:
            device, port = end
            if device not in ports or port in MUTE:
                continue
            far = self.link.get(end)
            lit = far is not None and far[0] not in self.off
            heard = (Neighbour(system=far[0], port=far[1], description=far[1]),) if lit else ()
            speed = speeds.get(end, 0) if lit else 0
            fec = fecs.get(end, "") if lit else ""
            seen = ObservedPort(port, lit, True, speed, 9216, fec, neighbours=heard)
            ports[device][port] = replace(seen, **self.changes.get(end, {}))
        devices = {
            name: ObservedDevice(name, reached=False, reason="timed out")
            if name in self.off
            else ObservedDevice(name, hostname=name, ports=ports[name])
            for name in names
        }
        return Observed(devices)

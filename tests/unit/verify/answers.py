"""Answers of devices, in the forms that the sources named in the parsers give."""

# ruff: noqa: E501 - tables are as wide as they are printed

LLDP = """{"lldp": [{"interface": [
 {"name": "swp1", "via": "LLDP", "rid": "1", "age": "0 day, 00:00:09",
  "chassis": [{"id": [{"type": "mac", "value": "02:00:5E:00:00:99"}], "name": [{"value": "gpu-001.lab.example.net"}]}],
  "port": [{"id": [{"type": "mac", "value": "02:00:5e:00:00:08"}], "descr": [{"value": "enp24s0np0"}]}]},
 {"name": "swp2", "via": "LLDP", "rid": "2",
  "chassis": [{"id": [{"type": "local", "value": "x"}], "name": [{"value": "leaf"}]}],
  "port": [{"id": [{"type": "ifname", "value": "swp7"}], "descr": [{"value": "leaf:swp7"}]}]},
 {"name": "swp2", "via": "CDPv2", "rid": "3", "chassis": [{}], "port": [{}]}
]}]}"""

LINKS = """[
 {"ifname": "lo", "link_type": "loopback", "flags": ["UP", "LOWER_UP"], "mtu": 65536, "address": "00:00:00:00:00:00"},
 {"ifname": "swp1", "link_type": "ether", "flags": ["BROADCAST", "UP", "LOWER_UP"], "mtu": 9216, "address": "02:00:00:00:00:01"},
 {"ifname": "swp2", "link_type": "ether", "flags": ["NO-CARRIER", "BROADCAST", "UP"], "mtu": 9216, "address": "02:00:00:00:00:02"},
 {"ifname": "swp3", "link_type": "ether", "flags": ["BROADCAST"], "mtu": 1500, "address": "02:00:00:00:00:0a",
  "permaddr": "02:00:00:00:00:03", "altnames": ["enp3s0"], "master": "bond1"},
 {"ifname": "bond1", "link_type": "ether", "flags": ["UP"], "mtu": 1500, "address": "02:00:00:00:00:0a",
  "linkinfo": {"info_kind": "bond"}},
 {"ifname": "swp4", "link_type": "ether", "flags": ["UP", "LOWER_UP"], "mtu": 9216, "address": "02:00:00:00:00:04",
  "linkinfo": {"info_kind": "veth"}},
 {"ifname": "eth0", "link_type": "ether", "flags": ["UP", "LOWER_UP"], "mtu": 1500, "address": "02:00:00:00:00:05"}
]"""

SPEEDS = """/sys/class/net/swp1/speed:400000
/sys/class/net/swp2/speed:-1
/sys/class/net/swp4/speed:10000
/sys/class/net/eth0/speed:4294967295
"""

FEC = """FEC parameters for swp1:
Supported/Configured FEC encodings: Auto RS
Active FEC encoding: RS
FEC parameters for swp2:
Configured FEC encodings: Auto
Active FEC encoding: None
"""

FDB = """[{"mac": "02:00:5E:00:00:10", "ifname": "swp1", "vlan": 4, "master": "bridge", "state": ""},
 {"mac": "33:33:00:00:00:01", "ifname": "swp1", "flags": ["self"], "state": "permanent"}]"""
NEIGH = """[{"dst": "fe80::1", "dev": "swp4", "lladdr": "02:00:5e:00:00:11", "state": ["STALE"]},
 {"dst": "10.0.0.9", "dev": "swp4", "state": ["FAILED"]}]"""

BGP = """{"default": {
 "ipv4Unicast": {"routerId": "10.0.0.1", "as": 4200000001, "peers": {
   "swp31": {"remoteAs": 4200000100, "state": "Established"}, "swp32": {"remoteAs": 0, "state": "Idle"}}},
 "l2VpnEvpn": {"as": 4200000001, "peers": {"swp31": {"remoteAs": 4200000100, "state": "Established"}}}},
 "vision": {"ipv4Unicast": {"as": 4200000001, "peers": {"10.9.0.1": {"remoteAs": 64500, "state": "Active"}}}}}"""

ROUTE = """{"10.72.224.1/32": [{"prefix": "10.72.224.1/32", "protocol": "bgp", "selected": true, "installed": true, "nexthops": [
 {"fib": true, "active": true, "interfaceName": "swp31"}, {"fib": true, "active": true, "interfaceName": "swp32"},
 {"active": false, "interfaceName": "swp33"}]}]}"""

SONIC_STATUS = """  Interface            Lanes    Speed    MTU    FEC    Alias             Vlan    Oper    Admin             Type    Asym PFC
-----------  ---------------  -------  -----  -----  -------  ---------------  ------  -------  ---------------  ----------
  Ethernet0          0,1,2,3     400G   9100     rs    etp1a           routed      up       up  QSFP28 or later         off
  Ethernet4          4,5,6,7     400G   9100     rs    etp1b           routed    down       up  QSFP28 or later         off
  Ethernet8        8,9,10,11     1000M   9100    N/A    etp2a           routed      up     down             RJ45         off
"""
SONIC_MAC = """  No.    Vlan  MacAddress         Port           Type
-----  ------  -----------------  -------------  -------
    1       2  11:22:33:44:55:66  Ethernet0      Dynamic
    2       3  11:22:33:66:55:44  Ethernet4      Static
Total number of entries 2
"""
SONIC_PRIORITY = """
Interface    Lossless priorities
-----------  ---------------------
Ethernet0    3
Ethernet4    3,4
Ethernet8    N/A
"""
SONIC_COUNTERS = """  Port Rx    PFC0    PFC1    PFC2    PFC3    PFC4    PFC5    PFC6    PFC7
---------  ------  ------  ------  ------  ------  ------  ------  ------
Ethernet0   1,200       0       0     203       0       0       0       0
Ethernet4       0       0       0       0       0       0       0       0

  Port Tx    PFC0    PFC1    PFC2    PFC3    PFC4    PFC5    PFC6    PFC7
---------  ------  ------  ------  ------  ------  ------  ------  ------
Ethernet0       0       0       0   7,213       0       0       0       0
Ethernet4       0       0       0       0       0       0       0       0
"""
SONIC_WATCHDOG = """Changed polling interval to 200ms
     PORT    ACTION    DETECTION TIME    RESTORATION TIME    HISTORY
---------  --------  ----------------  ------------------  ---------
Ethernet0      drop               400                 400    disable
"""
SONIC_STORMS = """      QUEUE       STATUS    STORM DETECTED/RESTORED    TX OK/DROP    RX OK/DROP    TX LAST OK/DROP    RX LAST OK/DROP
-----------  -----------  -------------------------  ------------  ------------  -----------------  -----------------
Ethernet0:3  operational                        2/2           0/0           0/0                0/0                0/0
"""

EOS_INTERFACES = """{"interfaces": {
 "Ethernet1/1": {"interfaceStatus": "connected", "lineProtocolStatus": "up", "bandwidth": 400000000000, "mtu": 9214,
                 "physicalAddress": "00:1c:73:00:00:01"},
 "Ethernet2/1": {"interfaceStatus": "notconnect", "lineProtocolStatus": "down", "bandwidth": 0, "mtu": 9214},
 "Ethernet3/1": {"interfaceStatus": "disabled", "lineProtocolStatus": "down", "bandwidth": 0, "mtu": 9214},
 "Management1": {"interfaceStatus": "connected", "lineProtocolStatus": "up", "bandwidth": 1000000000, "mtu": 1500},
 "Loopback0": {"interfaceStatus": "connected", "lineProtocolStatus": "up", "bandwidth": 0, "mtu": 65535}}}"""
EOS_LLDP = """{"lldpNeighbors": {
 "Ethernet1/1": {"lldpNeighborInfo": [{"systemName": "78m3", "chassisId": "2c60.0cad.30de", "chassisIdType": "macAddress",
   "neighborInterfaceInfo": {"interfaceIdType": "macAddress", "interfaceId": "000f.532e.ced1", "interfaceDescription": "eth3"}}]},
 "Ethernet2/1": {"lldpNeighborInfo": []},
 "Ethernet3/1": {"lldpNeighborInfo": [{"systemName": "spine", "chassisId": "001c.7300.0001", "chassisIdType": "macAddress",
   "neighborInterfaceInfo": {"interfaceIdType": "interfaceName", "interfaceId": "\\"Ethernet5/1\\"",
                             "interfaceId_v2": "Ethernet5/1", "interfaceDescription": "leaf:Ethernet3/1"}}]}}}"""
EOS_MACS = """{"unicastTable": {"tableEntries": [
 {"vlanId": 10, "macAddress": "02:00:5e:00:00:10", "interface": "Ethernet1/1", "entryType": "dynamic"},
 {"vlanId": 10, "macAddress": "00:1c:73:00:00:99", "interface": "Router", "entryType": "static"}]}}"""
EOS_ARP = """{"vrfs": {"default": {"ipV4Neighbors": [
 {"address": "10.0.0.1", "hwAddress": "0200.5e00.0011", "interface": "Vlan10, Ethernet1/1"},
 {"address": "10.0.0.3", "hwAddress": "0200.5e00.0012", "interface": "Ethernet2/1"}]}}}"""
EOS_BGP = """{"vrfs": {"default": {"routerId": "10.1.0.3", "asn": "4200000001", "peers": {
 "10.1.0.1": {"peerState": "Established", "peerAsn": "64086.61540", "l2VpnEvpn": {"afiSafiState": "negotiated"}},
 "fe80::21c:73ff:fe00:1%Et2/1": {"peerState": "Idle", "peerAsn": "65100", "l2VpnEvpn": {"afiSafiState": "advertised"}},
 "10.1.0.5": {"peerState": "Established", "peerAsn": "65100"}}}}}"""
EOS_ROUTE = """{"vrfs": {"default": {"routes": {"10.0.0.1/32": {"vias": [
 {"nexthopAddr": "10.1.0.1", "interface": "Ethernet1/1"}, {"nexthopAddr": "10.1.0.3", "interface": "Ethernet2/1"}]}}}}}"""
EOS_WATCHDOG = """{"interfaces": {"Ethernet1/1": {"txQueues": {"3": {"stuckCount": 4, "recoveryCount": 4}}}}}"""

EOS_PROFILES = """qos profile ROCE-400G
   qos trust dscp
   priority-flow-control on
   priority-flow-control priority 3 no-drop
   !
   uc-tx-queue 3
      no priority
!
qos profile IDLE
   priority-flow-control priority 4 no-drop
"""
EOS_PORTS = """interface Ethernet1/1
   description spine:Ethernet5/1
   no switchport
   service-profile ROCE-400G
!
interface Ethernet2/1
   service-profile IDLE
!
interface Ethernet3/1
   priority-flow-control on
   priority-flow-control priority 4 no-drop
   priority-flow-control priority 3 no-drop
!
interface Ethernet4/1
"""
EOS_STORM_TIMES = """priority-flow-control pause watchdog default timeout 0.4
priority-flow-control pause watchdog default recovery-time 0.4
"""

LINUX = {
    "hostname": "leaf\n",
    "ip -d -j link": LINKS,
    "lldpcli -f json0": LLDP,
    "/speed": SPEEDS,
    "--show-fec": FEC,
    "bridge -j fdb": FDB,
    "ip -j neigh": NEIGH,
    "show bgp vrf all": BGP,
    "show ip route": ROUTE,
}
SONIC = {
    **LINUX,
    "docker exec lldp lldpcli": LLDP,
    "show interfaces status": SONIC_STATUS,
    "show mac": SONIC_MAC,
    "show pfc priority": SONIC_PRIORITY,
    "show pfc counters": SONIC_COUNTERS,
    "show pfcwd config": SONIC_WATCHDOG,
    "show pfcwd stats": SONIC_STORMS,
}
EOS_PHY = """{"interfacePhyStatuses": {
  "Ethernet1/1": {"phyStatuses": [{"phyState": {"value": "linkUp"}, "operSpeed": "400Gbps",
    "fec": {"encoding": "reedSolomon", "codewordSize": "544", "correctedCodewords": {"value": 3}}}]},
  "Ethernet2/1": {"phyStatuses": [{"operSpeed": "25Gbps", "fec": {"encoding": "fireCode"}}]},
  "Ethernet3/1": {"phyStatuses": [{"operSpeed": "10Gbps"}]}}}"""
EOS = {
    "show interfaces phy detail": EOS_PHY,
    "show hostname": '{"hostname": "leaf", "fqdn": "leaf.example.net"}',
    "show interfaces": EOS_INTERFACES,
    "show lldp neighbors detail": EOS_LLDP,
    "show mac address-table": EOS_MACS,
    "show ip arp": EOS_ARP,
    "show bgp summary": EOS_BGP,
    "show ip route": EOS_ROUTE,
    "show priority-flow-control counters watchdog": EOS_WATCHDOG,
    "show running-config section qos profile": EOS_PROFILES,
    "show running-config section interface Ethernet": EOS_PORTS,
    "show running-config section priority-flow-control": EOS_STORM_TIMES,
}

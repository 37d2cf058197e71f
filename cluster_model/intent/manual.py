"""Manuals of what the first stage finds: the file itself (YML), the intent (INT) and the fact files (FCT)."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """A manual: title, why the rule is there, and the way out."""

    title: str
    why: str
    fix: str


MANUALS: dict[str, Entry] = {
    "YML001": Entry(
        "file that is not YAML",
        "The parser stopped, so nothing behind this place was read. Tabs in the indentation, an open quote or bracket, "
        "a missing space after a colon and uneven indentation are the usual causes; the finding points at where the "
        "mistake begins.",
        "Mend the line shown. Indent with two spaces per level, and quote values that hold `: `, `#`, or begin with "
        "`@`, `*` or `&`.",
    ),
    "YML002": Entry(
        "duplicate key",
        "YAML readers keep the last of two equal keys without a word, so half of what is written would be ignored.",
        "Keep one, or join the two mappings.",
    ),
    "YML003": Entry(
        "file that holds no mapping",
        "A cluster is keys and values: name, site, racks, servers, networks.",
        "Write `key: value` lines without a dash before them. `gpuyard new NAME` writes a file to start from.",
    ),
    "YML004": Entry(
        "empty file",
        "There is nothing in it besides comments.",
        "`gpuyard new NAME` writes a file to start from.",
    ),
    "YML005": Entry(
        "no such file",
        "The argument CLUSTER is a folder that holds cluster.yml, or the file itself: a regular file, and no link that leads out "
        "of its folder. The exit code is 2.",
        "Check the path, and that you may read it.",
    ),
    "YML006": Entry(
        "file that is not UTF-8",
        "An intent is UTF-8 text, with or without a byte order mark. Editors on Windows may save another encoding.",
        "Save the file as UTF-8.",
    ),
    "YML007": Entry(
        "several documents in one file",
        "A line of three dashes begins another YAML document. One file describes one cluster.",
        "Put the second cluster into a folder of its own, or delete the dashes.",
    ),
    "YML008": Entry(
        "part of YAML that an intent does not use",
        "Tags such as `!!binary` or `!vault`, and lists or mappings as keys, mean nothing here. Anchors, aliases and "
        "`<<` merges of mappings are fine.",
        "Write the value plainly.",
    ),
    "YML009": Entry(
        "file absurdly large or deep",
        "Nesting beyond 64 levels, more than 200,000 values once aliases are expanded, or more than 8 MB are refused, "
        "so that a broken or hostile file costs neither memory nor time. An intent has seven levels at most.",
        "Write the values out plainly, and look for an alias that names itself.",
    ),
    "YML010": Entry(
        "value that YAML reads as something else",
        "YAML 1.1 reads 010 as eight, 12:30 as 750, and the bare words on, off, yes and no as booleans, even where they "
        "are keys. None of that is ever meant here.",
        "Put the text in quotes, or write a plain decimal number.",
    ),
    "INT001": Entry(
        "key not known",
        "Unknown keys are refused rather than ignored, since a misspelt key would leave its default standing.",
        "Take the suggestion, or one of the keys listed. `gpuyard schema` gives an editor the whole list.",
    ),
    "INT002": Entry(
        "key missing",
        "The value has no default: somebody must choose it.",
        "Add the key under the mapping shown.",
    ),
    "INT003": Entry(
        "value of the wrong type",
        "Types are strict: a number in quotes is text, and a version without quotes is a number (1.30 would become 1.3).",
        "Write what is expected; text that looks like a number, a date or a boolean needs quotes.",
    ),
    "INT004": Entry(
        "number out of range",
        "The bounds are those of the field's meaning, such as six bits of DSCP, not those of your hardware, which come later.",
        "Write a number within the bounds. The unit is in the key's name.",
    ),
    "INT005": Entry(
        "value that is not one of the choices",
        "The key takes one of a few words.",
        "Take one of those listed.",
    ),
    "INT006": Entry(
        "text of the wrong form",
        "Names become host names and file names, and prefixes become routes, so their form is fixed: names are lower-"
        "case with hyphens, rows are capital letters, racks are row and position, a prefix has no host bits set. What may be a "
        "secret is not shown: a private key, or a password where the name of a secret belongs.",
        "Write the form that is expected.",
    ),
    "INT007": Entry(
        "empty list or mapping",
        "At least one entry is needed for the key to mean anything.",
        "Add an entry.",
    ),
    "INT008": Entry(
        "key without a value",
        "Nothing stands behind the colon, or the word null. An empty value is not the default: it may as well be forgotten.",
        "Write a value, or delete the line to get the default.",
    ),
    "INT009": Entry(
        "server group whose servers would pass for switches",
        "Device names have one grammar, so that any name tells what it names. Servers of a group `compute-leaf` would "
        "be called compute-leaf-001, which is a switch.",
        "Rename the group.",
    ),
    "INT010": Entry(
        "rack group that does not exist",
        "Servers and networks stand in a rack group by its name under racks.groups. Networks default to the group `network`.",
        "Add the group, or name one that exists.",
    ),
    "INT011": Entry(
        "id used twice",
        "Addresses, AS numbers and ports follow from ids, never from the order of the file, so two entries of one kind "
        "need two ids.",
        "Give the newer entry the free id that the finding names. What is built keeps its id for ever.",
    ),
    "INT012": Entry(
        "row that does not exist, or in two groups",
        "A row belongs whole to one rack group; rows are declared under racks.rows.",
        "Declare the row, take it out of one group, or split it in two rows.",
    ),
    "INT013": Entry(
        "server group that does not exist",
        "Ceph, Kubernetes, NVMe over Fabrics and the addresses of tenants name server groups under servers.",
        "Add the group, or name one that exists.",
    ),
    "INT014": Entry(
        "role that cannot be told",
        "A group called gpu, storage, control, login, gateway or fabric-manager has that role; any other name needs `role`.",
        "Add role: with one of those words.",
    ),
    "INT015": Entry(
        "more servers built than planned",
        "`planned` is the final size, for which space, ports and addresses are kept; `count` is what is built now.",
        "Raise planned. Growth beyond what was planned may move cables: look at `gpuyard diff` before.",
    ),
    "INT016": Entry(
        "placement beyond what is planned, or twice",
        "Servers of a group are numbered from 1 to its planned size; each stands in one place.",
        "Correct the number, or keep one of the two placements.",
    ),
    "INT017": Entry(
        "rack that does not exist",
        "A rack is its row and its position in two digits (three from 100): A01 is the first of row A.",
        "Name a rack within the row, or make the row longer under racks.rows.",
    ),
    "INT018": Entry(
        "network without an address pool",
        "Every address of a routed network is cut from its own pool in fixed slices. Only an InfiniBand compute network "
        "needs none.",
        "Add pool: with a prefix that nothing else uses, large enough for the planned size.",
    ),
    "INT019": Entry(
        "Ceph pool with neither replicas nor erasure, or both",
        "A pool is replicated or erasure coded.",
        "Write one of the two: replicas: 3, or erasure: 4+2.",
    ),
    "INT020": Entry(
        "tenant that does not exist",
        "`uses` and `peers` name other tenants, as they are called under tenants.",
        "Take the suggestion, or add the tenant.",
    ),
    "INT021": Entry(
        "border peer that does not exist",
        "`egress` and `nat` name external peers, as they are called under networks.business.border.peers.",
        "Take the suggestion, or add the peer.",
    ),
    "INT022": Entry(
        "use of a tenant that is not shared",
        "`uses` opens a way to services. A tenant offers them by `shared: true`; without it nobody asked that tenant.",
        "Set shared: true at the tenant that offers, or let the two peer, which both must name.",
    ),
    "INT023": Entry(
        "tenant that names itself",
        "A tenant reaches its own subnets without being told.",
        "Take the name away, or write the tenant that is meant.",
    ),
    "INT024": Entry(
        "peering that one side does not name",
        "Two tenants that peer see each other's visible subnets. One alone cannot open the other.",
        "Add the missing name on the other side, or take the one that is there away.",
    ),
    "INT025": Entry(
        "address translation towards a peer that the tenant does not leave by",
        "`nat` says with which addresses a tenant leaves by one of its `egress` peers. Alone it opens nothing.",
        "Add the peer to egress, or take the line away.",
    ),
    "INT026": Entry(
        "servers that do not exist",
        "Tenants and subnets name a server group (`gpu`), a server (`gpu-007`) or a slice of one group "
        "(`gpu-001..gpu-064`), lower number first, up to what is planned.",
        "Write one of these forms. Two groups are two items of the list.",
    ),
    "INT027": Entry(
        "Ceph pool, file system or object store that does not exist",
        "A tenant gets a namespace in pools of `ceph.pools`, a folder in file systems of `ceph.filesystems`, and buckets in "
        "`ceph.object`. These lie in pools, and pods have volumes from pools and file systems.",
        "Take the suggestion, or add the pool, the file system or the object store.",
    ),
    "INT028": Entry(
        "tenants without a business network",
        "Subnets of tenants live on the business network alone; compute and storage carry no tenant's addresses.",
        "Add `business` under networks: leaf and pool are enough.",
    ),
    "INT029": Entry(
        "isolation that the compute network does not have",
        "Tenants are kept apart on Ethernet by VRFs over VXLAN, on InfiniBand by partition keys.",
        "Set isolation to vrf on RoCE, to pkeys on InfiniBand, or leave it out.",
    ),
    "INT030": Entry(
        "time zone that does not exist",
        "Switches, hosts and the schedules of GPU power take the zone by its name in the tz database. A switch that does not "
        "know the name refuses its configuration, or logs in another time than its neighbors.",
        "Take the suggestion. `timedatectl list-timezones` lists the names; in doubt write UTC.",
    ),
    "INT031": Entry(
        "reference or template in a text",
        "`{{`, `{%` and `{#` begin references to secrets in rendered files, and expressions of Jinja in Ansible's variables. A "
        "text that holds one would be replaced by what it names where the file is delivered, such as a password on a label. "
        "Intents and fact files hold neither. Secrets are named by their bare names, in the keys that ask for one.",
        "Write the text without the braces.",
    ),
    "INT032": Entry(
        "cable moved twice, or two cables in one port",
        "A cable has one far end, and a port takes one cable. Two exceptions that disagree leave open what was plugged in.",
        "Look at the two cables, and keep the exception that is true.",
    ),
    "INT033": Entry(
        "no such network for nodes",
        "Kubelets, pods' traffic and images use one address of each node: of the storage network, out-of-band, or of a tenant's "
        "subnet. A network that there is not has none.",
        "Name `storage`, `oob`, or TENANT/SUBNET, or leave `network` out.",
    ),
    "PRV001": Entry(
        "file of SSH keys that cannot be read",
        "`key_files` lie in the intent's folder or below it, in UTF-8, one public key per line; a link must not lead out of it. "
        "Without them nobody could log in. What such a file says is never shown, since it may be something else.",
        "Check the name and the encoding, or write the key under `keys`.",
    ),
    "PRV002": Entry(
        "text that is no public SSH key",
        "A line of authorized_keys without options: type, key, name. A key that was cut off while copying opens no door, and "
        "that shows up when the server is installed. A private key belongs nowhere near an intent.",
        "Give the whole content of a .pub file. If it was a private key, replace that key: it has been shown.",
    ),
    "FCT001": Entry(
        "fact file that cannot be read",
        "The CSV files under facts lie in the intent's folder or below it, in UTF-8, with at most 200,000 lines and 32 MB. A "
        "link must not lead out of the folder: whoever validates an intent of somebody else would show them files of their own.",
        "Check the name and the encoding, or delete the key until the vendor's list is there.",
    ),
    "FCT002": Entry(
        "column not known",
        "A misspelt column would silently leave its facts out. docs/facts-csv.md lists the columns.",
        "Rename or delete the column.",
    ),
    "FCT003": Entry(
        "duplicate device or column",
        "Two rows for one device contradict each other, or soon will.",
        "Keep one.",
    ),
    "FCT004": Entry(
        "MAC address, GUID, serial number or disk of the wrong form",
        "MACs are read as aa:bb:cc:dd:ee:ff, aa-bb-…, aabb.ccdd.eeff or twelve digits, in either case; GUIDs as sixteen "
        "digits with or without 0x and colons. Zero is none, and the address of one port has an even first byte. Serial "
        "numbers are letters and digits, with spaces and _ . : / + - between them, and may end in a dot; disks are named by "
        "serial number or WWN, in letters, digits, hyphens, dots, colons and underscores.",
        "Copy it from the label or the delivery list again; spreadsheets turn digits into numbers.",
    ),
    "FCT005": Entry(
        "MAC address, GUID, serial number or disk used twice",
        "These numbers are unique in the world, so one of the two rows was copied. DHCP would serve the wrong host.",
        "Correct the row that is wrong; the finding names the other.",
    ),
    "FCT006": Entry(
        "line with too many or too few fields",
        "Every line has as many fields as the header line. The divider is the one that the header has most of: comma, "
        "semicolon or tab.",
        "Add or remove a divider; a value that holds one goes in double quotes.",
    ),
    "FCT007": Entry(
        "line that names no device",
        "Each line is found by the column `name`.",
        "Add the column, fill the field, or delete the line.",
    ),
    "FCT008": Entry(
        "field that is not plain text",
        "Facts go into configurations, drawings and inventories. Control characters and marks that turn the direction of writing "
        "have no place there, and `{{`, `{%` and `{#` begin references and templates (INT031). The line is left out.",
        "Delete the character shown; export the file again where it is damaged.",
    ),
}

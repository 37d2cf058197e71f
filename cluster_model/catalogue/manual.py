"""Manuals of what the catalogue finds in its files (CAT)."""

from __future__ import annotations

from cluster_model.intent.manual import Entry

MANUALS: dict[str, Entry] = {
    "CAT001": Entry(
        "file that is no device",
        "A file under catalogue/device-types/MAKER/ is YAML with manufacturer, model and slug. Without a `gpuyard:` "
        "block it is derived from NetBox's own fields, for which it needs at least four switch ports, or power outlets.",
        "Mend the file, or add a gpuyard: block; docs/add-a-server.md shows one.",
    ),
    "CAT002": Entry(
        "ports or cages missing",
        "The numbering has gaps. Public device files leave ports out, and cables would be planned without them.",
        "Add the missing ones from the maker's data sheet.",
    ),
    "CAT003": Entry(
        "duplicate port or cage",
        "Two equal names cannot both be cabled.",
        "Remove or rename one.",
    ),
    "CAT004": Entry(
        "power that does not add up",
        "Rack power is summed from maximum_w at the inlet, and a feed's loss is judged by what the remaining supplies can carry.",
        "Take maximum draw, supply count and supply output from the data sheet; maximum, not typical.",
    ),
    "CAT005": Entry(
        "field unknown or of the wrong form",
        "Catalogue files are strict in their gpuyard: block, so that a misspelt field is not ignored.",
        "Write what is expected; docs/add-a-server.md lists the fields.",
    ),
    "CAT006": Entry(
        "numbers without a source",
        "Every group of numbers says where it comes from, so that anybody can check it again.",
        "Add source: with document and section, and confirmed: false where it is not the maker's own text.",
    ),
    "CAT007": Entry(
        "ports and cages that contradict each other",
        "A cage takes one transceiver; its lanes are shared by its ports, and a mode divides them evenly.",
        "Correct the cage, its lanes or its modes.",
    ),
    "CAT008": Entry(
        "GPU or NIC not in the catalogue",
        "Servers refer to gpus/ and nics/ by maker/model.",
        "Add the file beside the device, or correct the name.",
    ),
    "CAT009": Entry(
        "ports that do not add up to the chip",
        "The sum of all cages is the chip's bandwidth on every switch that is not oversubscribed inside; a difference "
        "is a typing error.",
        "Correct the cages or asic.bandwidth_gbps.",
    ),
    "CAT010": Entry(
        "link or special file in a cluster's catalogue",
        "The catalogue of a cluster is the folder catalogue/ beside its intent, and lies there whole: neither it nor a folder "
        "in it is a link, a link to a file leads to a file in catalogue/, and a file is no FIFO, socket or device. Otherwise any "
        "file could be shown in findings, and delivered to the boot server, where everybody reads it. Only media.yaml and the "
        "YAML files of makers, such as device-types/acme/g8.yaml, are read at all.",
        "Put a copy of the files in the link's place. A catalogue that several clusters share can be a git submodule, a git "
        "subtree or a bind mount.",
    ),
}

"""The patterns of an intent's texts: what each means, and a text that fits it."""

from __future__ import annotations

from functools import cache

from cluster_model.collecting import collect
from cluster_model.intent.base import FILE_NAME, NAME, PORT_NAME, SECRET_NAME, TEXT, TIME_ZONE, Pattern
from cluster_model.intent.model.bmc import USER
from cluster_model.intent.model.cables import END
from cluster_model.intent.model.site import DOMAIN

_OWN: dict[str, Pattern] = {
    NAME: Pattern("a name of lower-case letters and digits, joined by single hyphens, that begins with a letter", "stand-in"),
    SECRET_NAME: Pattern(
        "the name of a secret, such as ops-password, and never the secret itself",
        "stand-in",
        "write a name such as ops-password, and put the secret under that name into secrets.yml",
    ),
    r"^[a-z][a-z0-9-]*$": Pattern("a name of lower-case letters, digits and hyphens that begins with a letter", "stand-in"),
    TEXT: Pattern("a text in one line, of printable characters", "stand-in"),
    FILE_NAME: Pattern("the name of a file in the cluster's folder or below it, such as servers.csv", "stand-in"),
    PORT_NAME: Pattern("the name of a port as the catalogue has it, such as enp24s0np0", "stand-in"),
    END: Pattern("an end as device:port, such as gpu-003:enp24s0np0", "stand-in:1"),
    TIME_ZONE: Pattern("a name of the tz database, such as Asia/Shanghai", "UTC"),
    USER: Pattern("a user name of letters, digits and . _ @ -, at most 32 characters", "stand-in"),
    r"^[A-Z]{1,2}$": Pattern("a row: one or two capital letters, such as A", "ZZ"),
    r"^[A-Z]{1,2}[0-9]{2,3}$": Pattern("a rack: row and position, such as A01", "ZZ01"),
    r"^[a-z0-9.-]+/[a-z0-9.-]+$": Pattern("maker/model in lower case, such as nvidia/sn5600", "stand/in"),
    DOMAIN: Pattern("a DNS domain in lower case, such as pod-a.example.net", "stand-in.invalid"),
    r"^[0-9]{3}$": Pattern('a driver branch, such as "580"', "580"),
    r"^[0-9a-f]{2}(:[0-9a-f]{2}){5}$": Pattern("a MAC address in lower case, such as 00:00:5e:00:01:01", "02:00:00:00:00:01"),
    r"^[0-9][0-9A-Za-z.-]*$": Pattern('a release, such as "202605"', "0"),
    r"^[A-Za-z][A-Za-z0-9_-]{0,30}$": Pattern(
        "a VRF name: letters, digits, hyphens and underscores, beginning with a letter", "stand-in"
    ),
}


@cache
def list_patterns() -> dict[str, Pattern]:
    """Return every pattern of the model, those of services among them; a test holds it complete."""
    found = dict(_OWN)
    for patterns in collect("cluster_model.intent.services", "PATTERNS"):
        found |= patterns
    return found

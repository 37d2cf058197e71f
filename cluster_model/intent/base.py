"""What every part of an intent shares: strictness, and the few scalar types."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, WithJsonSchema
from pydantic_core import PydanticCustomError

from cluster_model.texts import UNPRINTABLE

_NO_FILE = UNPRINTABLE + r"""/\\"'`$;<>|&*?{}\[\]:#!%,="""
TEXT = f"^[^{UNPRINTABLE}]*$"
NAME = r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$"
SECRET_NAME = r"^[a-z](-?[a-z0-9])*$"
"""The names that NAME takes, in another writing: so a key that takes a secret's name is told from one that takes any."""
FILE_NAME = rf"^[^.\- {_NO_FILE}][^{_NO_FILE}]*(/[^.\- {_NO_FILE}][^{_NO_FILE}]*)*$"
PORT_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.:/-]{0,30}$"
TIME_ZONE = r"^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$"


class Pattern(NamedTuple):
    """A pattern's meaning in words, for findings, and a text that fits it, to see past a mistake with.

    Where what is refused may be a secret, there is also a way out: then the finding has that, and shows nothing of the text.
    """

    words: str
    stand_in: str
    way_out: str = ""


class Model(BaseModel):
    """Strict, frozen, unknown keys refused; a field's docstring is its hover text in an editor (field_docs.py)."""

    # Only the whole intent is validated, so the validators of its parts alone are not built.
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


def _parse_network(value: Any) -> Any:
    if isinstance(value, IPv4Network):
        return value
    if not isinstance(value, str):
        raise PydanticCustomError("ipv4_prefix", "an IPv4 prefix such as 10.64.0.0/11")
    try:
        return IPv4Network(value)
    except ValueError as error:
        hint = ""
        if "host bits" in str(error):
            hint = f", and {IPv4Network(value, strict=False)} is the prefix that holds it"
        raise PydanticCustomError("ipv4_prefix", "an IPv4 prefix such as 10.64.0.0/11{hint}", {"hint": hint}) from None


def _parse_address(value: Any) -> Any:
    if isinstance(value, IPv4Address):
        return value
    try:
        if isinstance(value, str):
            return IPv4Address(value)
    except ValueError:
        pass
    raise PydanticCustomError("ipv4_address", "an IPv4 address such as 10.255.0.53")


Prefix = Annotated[
    IPv4Network,
    BeforeValidator(_parse_network),
    PlainSerializer(str, return_type=str),
    WithJsonSchema({"type": "string", "format": "ipv4-network", "examples": ["10.64.0.0/11"]}),
]
Address = Annotated[
    IPv4Address,
    BeforeValidator(_parse_address),
    PlainSerializer(str, return_type=str),
    WithJsonSchema({"type": "string", "format": "ipv4", "examples": ["10.255.0.53"]}),
]


def _check_time_zone(value: str) -> str:
    """Refuse what the tz database does not hold; on a machine without the database the form alone is checked."""
    from zoneinfo import TZPATH, ZoneInfo

    if value == "UTC" or not any(Path(folder).is_dir() for folder in TZPATH):
        return value
    try:
        if value.partition("/")[0] not in _NOT_ZONES:
            ZoneInfo(value)
            return value
    except (ValueError, OSError, LookupError):
        pass
    raise PydanticCustomError("time_zone", "a name of the tz database")


def _refuse_boolean(value: Any) -> Any:
    """Refuse true where 1 is a choice: Python holds the two for equal, and so does a literal."""
    if isinstance(value, bool):
        raise PydanticCustomError("int_type", "a number")
    return value


_NOT_ZONES = {"posix", "right", "posixrules", "localtime", "Factory"}
"""Names beside the zones in /usr/share/zoneinfo: other builds of them, and this machine's own."""
Text = Annotated[str, Field(pattern=TEXT, max_length=400)]
"""A sentence in one line; whatever it is written into quotes it."""
Reason = Annotated[str, Field(pattern=TEXT, min_length=3, max_length=400)]
NAME_LENGTH = 31
MOST_IDS, MOST_RACKS, MOST_SERVERS = 250, 200, 50_000  # rows, tenants and so on; racks of a row; servers of a group
Name = Annotated[str, Field(pattern=NAME, max_length=NAME_LENGTH)]
SecretName = Annotated[str, Field(pattern=SECRET_NAME)]
FileName = Annotated[str, Field(pattern=FILE_NAME, max_length=200)]
"""A file in the cluster's folder or below it."""
PortName = Annotated[str, Field(pattern=PORT_NAME)]
TimeZone = Annotated[str, Field(pattern=TIME_ZONE), AfterValidator(_check_time_zone)]
Number = BeforeValidator(_refuse_boolean)
"""Stands beside every literal that has numbers among its choices."""
RowName = Annotated[str, Field(pattern=r"^[A-Z]{1,2}$")]
RackName = Annotated[str, Field(pattern=r"^[A-Z]{1,2}[0-9]{2,3}$")]
Hardware = Annotated[str, Field(pattern=r"^[a-z0-9.-]+/[a-z0-9.-]+$")]
Id = Annotated[int, Field(ge=1, le=MOST_IDS)]
MOST_PHASES = 20


def split_phases(value: int | list[int]) -> tuple[int, ...]:
    """Return what each phase of building brings: a plain number is all of the first."""
    return tuple(value) if isinstance(value, list) else (value,)

"""What every part of an intent shares: strictness, and the few scalar types."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, WithJsonSchema
from pydantic_core import PydanticCustomError


class Model(BaseModel):
    """Strict, frozen, unknown keys refused; a field's docstring is its hover text in an editor."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, use_attribute_docstrings=True)


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
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,30}$")]
RowName = Annotated[str, Field(pattern=r"^[A-Z]{1,2}$")]
RackName = Annotated[str, Field(pattern=r"^[A-Z]{1,2}[0-9]{2,3}$")]
Hardware = Annotated[str, Field(pattern=r"^[a-z0-9.-]+/[a-z0-9.-]+$")]
Id = Annotated[int, Field(ge=1, le=250)]
Reason = Annotated[str, Field(min_length=3)]

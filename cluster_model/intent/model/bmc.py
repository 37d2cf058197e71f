"""How BMCs are logged in to."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from cluster_model.intent.base import Model, Name, SecretName

USER = r"^[A-Za-z0-9_][A-Za-z0-9_.@-]{0,31}$"
User = Annotated[str, Field(pattern=USER)]


class BmcGroup(Model):
    """What is different for one server group; what is left out is as for all."""

    protocol: Literal["auto", "redfish", "ipmi"] | None = None
    """`redfish`, `ipmi`, or `auto`: Redfish, and IPMI where nobody answers it."""
    user: User | None = None
    """User name."""
    password: SecretName | None = None
    """Name of the secret that is the password."""
    ipmi_cipher: Annotated[int, Field(ge=1, le=17)] | None = None
    """IPMI cipher suite."""
    tls: Literal["pin", "verify", "off"] | None = None
    """How Redfish's certificate is judged."""


class Bmc(Model):
    """Logins to BMCs."""

    protocol: Literal["auto", "redfish", "ipmi"] = "auto"
    """`redfish`, `ipmi`, or `auto`: Redfish, and IPMI where nobody answers it."""
    user: User = "admin"
    """User name."""
    password: SecretName = "bmc-password"
    """Name of the secret that is the password; `NAME/gpu-001` in the secrets is that of one machine, as on its label."""
    ipmi_cipher: Annotated[int, Field(ge=1, le=17)] = 17
    """IPMI cipher suite: 17 in present firmware, 3 in what is older."""
    tls: Literal["pin", "verify", "off"] = "pin"
    """How Redfish's certificate is judged: `pin` wants the one of the first visit, `verify` one that an authority signed."""
    groups: dict[Name, BmcGroup] = {}
    """Server groups whose BMCs are otherwise."""

    def of(self, group: str) -> Bmc:
        """Return the settings of one server group."""
        more = self.groups.get(group)
        return self if more is None else self.model_copy(update=more.model_dump(exclude_none=True) | {"groups": {}})

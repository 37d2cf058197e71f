"""The protocols a BMC may speak, and the one that it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cluster_model.transport.bmc.controller import Bmc, BmcError, BmcLogin, BmcOpener, BmcTarget, Language
from cluster_model.transport.bmc.ipmi import open_ipmi
from cluster_model.transport.bmc.redfish import open_redfish

OPENERS: Mapping[Language, BmcOpener] = {"redfish": open_redfish, "ipmi": open_ipmi}


def open_bmc(target: BmcTarget, login: BmcLogin, languages: Sequence[Language] = ("redfish", "ipmi")) -> Bmc:
    """Return the machine's BMC, in the first language that it speaks.

    A wrong password ends the search: the other protocol has the same users, and every attempt counts towards a lock-out.
    """
    errors: list[tuple[Language, BmcError]] = []
    for language in languages:
        try:
            return OPENERS[language](target, login)
        except BmcError as error:
            errors.append((language, error))
            if error.cause in {"login", "certificate"}:
                break
    if len(errors) == 1:
        raise errors[0][1]
    # The last cause decides what to do next: nobody at all, or one who refuses. But one that is starting will answer later,
    # and may have no other language.
    causes = [error.cause for _, error in errors]
    raise BmcError(
        "starting" if "starting" in causes else causes[-1], "; ".join(f"{language}: {error}" for language, error in errors)
    )

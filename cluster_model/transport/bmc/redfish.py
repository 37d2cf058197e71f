"""BMCs by Redfish, with sushy."""

from __future__ import annotations

import contextlib
import json
import logging
import re
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar

from cluster_model.intent.source.hardware_addresses import parse_mac
from cluster_model.transport.bmc.certificates import fetch_certificate, known_bmcs, read_certificate, remember_certificate
from cluster_model.transport.bmc.controller import (
    NO_SERIAL,
    Action,
    Bmc,
    BmcError,
    BmcLogin,
    BmcTarget,
    BootDevice,
    Language,
    Machine,
    Power,
    clean_machine,
    give_order,
    retry,
)
from cluster_model.transport.gear_text import clean_line
from cluster_model.transport.session import shorten

if TYPE_CHECKING:
    from sushy.main import Sushy
    from sushy.resources.system.system import System

PORT = {"https": 443, "http": 80}
_POWER: dict[str, Power] = {"On": "on", "PoweringOff": "on", "Off": "off", "PoweringOn": "off", "Paused": "on"}
_RESETS: dict[Action, tuple[str, ...]] = {
    "on": ("On", "ForceOn"),
    "off": ("ForceOff",),
    "soft": ("GracefulShutdown",),
    "cycle": ("PowerCycle", "ForceRestart"),
    "reset": ("ForceRestart", "GracefulRestart"),
}
"""What to ask for, the first that the BMC allows (DSP0268, Resource.ResetType)."""
_FULL = re.compile(r"SessionLimitExceeded|session limit|maximum (number of )?(user )?sessions", re.I)
_TARGETS: dict[BootDevice, str] = {"pxe": "Pxe", "http": "UefiHttp", "disk": "Hdd", "none": "None"}
_CHASSIS = 8
"""How many chassis of a system are asked for their serial numbers: it is in one, and boards may call themselves one too."""
Result = TypeVar("Result")


class RedfishBmc:
    """A machine behind a Redfish service, found there by serial number or MAC."""

    language: Language = "redfish"

    def __init__(self, target: BmcTarget, login: BmcLogin) -> None:
        self._target = target
        self._login = login
        self._service, new_certificate = retry(lambda: _log_in(target, login), login)
        try:
            self._system = self._ask(lambda: _find_system(self._service, target))
        except BmcError:
            self.close()
            raise
        # Only now: whatever else answered at the address, as a machine that has it by mistake, would stay the BMC for ever.
        if new_certificate:
            remember_certificate(_place(target, login), new_certificate)

    def read_power(self) -> Power:
        """Return whether the machine is on, read anew."""
        return self._ask(self._read_power)

    def _read_power(self) -> Power:
        self._system.refresh(force=True)
        return _POWER.get(str(self._system.json.get("PowerState", "")), "unknown")

    def switch(self, action: Action) -> None:
        """Switch power, as give_order does."""
        give_order(self.read_power, self._order, action, self._login)

    def _order(self, order: Action) -> None:
        allowed = self._ask(lambda: {str(value.value) for value in self._system.get_allowed_reset_system_values()})
        chosen = next((value for value in _RESETS[order] if value in allowed), _RESETS[order][0])
        try:
            self._tell(lambda: self._system.reset_system(_enum("ResetType", chosen)))
        except BmcError as error:
            if _may_be_done(error):
                raise BmcError("unsure", str(error)) from None
            raise

    def read_serials(self) -> frozenset[str]:
        """Return the serial numbers of the system, its chassis and their system boards, as IPMI's first FRU has them.

        Where the system's own is the planned one, the others are not asked for: each costs a request. Nor where it has none: a
        chassis may hold several systems, so its number tells that the machine is the planned one, and never that it is not.
        """
        return self._tell(lambda: frozenset(clean_line(serial) for serial in self._list_serials() if serial))

    def _list_serials(self) -> Iterator[str]:
        own = _text(self._system.json.get("SerialNumber"))
        yield own
        if own == self._target.serial or own.lower() in NO_SERIAL:
            return
        links = (self._system.json.get("Links") or {}).get("Chassis") or []
        for chassis in map(self._part, links[:_CHASSIS]):
            yield _text(chassis.get("SerialNumber"))
            for part in self._part(chassis.get("Assembly")).get("Assemblies") or []:
                if isinstance(part, dict) and part.get("PhysicalContext") == "SystemBoard":
                    yield _text(part.get("SerialNumber"))

    def boot_once(self, device: BootDevice, *, uefi: bool, persistent: bool = False) -> None:
        """Boot from `device` at the next start, by UEFI or BIOS."""
        enabled = "Disabled" if device == "none" else "Continuous" if persistent else "Once"
        mode = _enum("BootSourceOverrideMode", "UEFI" if uefi else "Legacy")
        target = _enum("BootSource", _TARGETS[device])

        def tell(with_mode: bool) -> None:
            more = {"mode": mode} if with_mode and device != "none" else {}
            self._system.set_system_boot_options(target=target, enabled=_enum("BootSourceOverrideEnabled", enabled), **more)

        try:
            self._tell(lambda: tell(True))
        except BmcError as error:
            # Firmware that has one mode only refuses to be told it.
            if error.cause != "refusal" or device == "none":
                raise
            self._tell(lambda: tell(False))

    def read_machine(self) -> Machine:
        """Return what the service tells; parts that a BMC lacks or gets wrong stay empty."""
        self._ask(lambda: self._system.refresh(force=True))
        return clean_machine(self._tell(self._describe))

    def _describe(self) -> Machine:
        told = self._system.json
        memory, processors = told.get("MemorySummary") or {}, told.get("ProcessorSummary") or {}
        manager = self._manager()
        return Machine(
            "redfish",
            _POWER.get(str(told.get("PowerState", "")), "unknown"),
            _text(told.get("SerialNumber")),
            _text(told.get("Manufacturer")),
            _text(told.get("Model")),
            _text(told.get("UUID")),
            _text(told.get("BiosVersion")),
            _text(manager.get("FirmwareVersion")),
            next((mac for _, mac in self._macs(manager)), ""),
            tuple(self._macs(told)),
            float(memory.get("TotalSystemMemoryGiB") or 0),
            int(processors.get("Count") or 0),
            _text((told.get("Status") or {}).get("Health")),
        )

    def close(self) -> None:
        """Log out."""
        with contextlib.suppress(Exception):
            self._service._auth.close()
        with contextlib.suppress(Exception):
            self._service._conn._session.close()

    def _manager(self) -> dict[str, Any]:
        links = (self._system.json.get("Links") or {}).get("ManagedBy") or []
        return self._part(links[0]) if links else {}

    def _macs(self, owner: dict[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield the ports of a system or manager that have a MAC, with their names."""
        for link in self._part(owner.get("EthernetInterfaces")).get("Members") or []:
            port = self._part(link)
            mac = parse_mac(_text(port.get("PermanentMACAddress")) or _text(port.get("MACAddress")))
            if mac:
                yield _text(port.get("Id")) or _text(port.get("Name")), mac

    def _part(self, link: Any) -> dict[str, Any]:
        path = link.get("@odata.id") if isinstance(link, dict) else None
        if not isinstance(path, str):
            return {}
        try:
            found = self._ask(lambda: self._service._conn.get(path).json())
        except BmcError as error:
            if error.cause in {"refusal", "language", "starting"}:
                return {}
            raise
        return found if isinstance(found, dict) else {}

    def _ask(self, work: Callable[[], Result]) -> Result:
        return retry(lambda: self._tell(work), self._login)

    def _tell(self, work: Callable[[], Result]) -> Result:
        with _explained(self._login):
            return work()


def open_redfish(target: BmcTarget, login: BmcLogin) -> Bmc:
    """Return the machine behind the Redfish service at the target's address."""
    return RedfishBmc(target, login)


def _port(target: BmcTarget, login: BmcLogin) -> int:
    return target.port or PORT[login.scheme]


def _place(target: BmcTarget, login: BmcLogin) -> str:
    address = f"[{target.address}]" if ":" in target.address else target.address
    return f"{address}:{_port(target, login)}"


def _log_in(target: BmcTarget, login: BmcLogin) -> tuple[Sushy, str]:
    """Return the service, and the fingerprint of its certificate where it is to be trusted from now on."""
    logging.getLogger("sushy").setLevel(logging.CRITICAL)
    logging.getLogger("urllib3").setLevel(logging.CRITICAL)
    with _explained(login):
        from sushy import connector, main

        from cluster_model.transport.bmc.line import confine, take_any

        base = f"{login.scheme}://{_place(target, login)}"
        verify = login.scheme == "https" and login.tls == "verify"
        # One try: with none sushy makes it three of its own, two seconds apart.
        line = connector.Connector(
            base,
            verify=verify,
            server_side_retries=1,
            default_request_timeout=login.answer_s,
            connect_timeout=login.answer_s,
        )
        line._session.trust_env = False
        known, pin = "", ""
        if login.scheme == "https" and login.tls == "pin":
            known = read_certificate(_place(target, login))
            pin = known or fetch_certificate(target.address, _port(target, login), login.answer_s)
        without_port = [base.rpartition(":")[0] + "/"] if _port(target, login) == PORT[login.scheme] else []
        tls = {} if verify or login.scheme == "http" else take_any(pin or None)
        confine(line._session, [f"{base}/", *without_port], login.answer_s, tls=tls)
        way = _make_auth(login)
        service = main.Sushy(base, auth=way, connector=line, server_side_retries=0, read_timeout=login.answer_s)
        return service, "" if known else pin


def _make_auth(login: BmcLogin) -> Any:
    """Return sushy's sessions, with basic authentication for services that have none.

    sushy's own fall-back would try a wrong password twice, and call a BMC without a free session a wrong password.
    """
    from sushy import auth, exceptions

    class SessionElseBasic(auth.SessionOrBasicAuth):  # type: ignore[misc]
        def _do_authenticate(self) -> None:
            try:
                auth.SessionAuth._do_authenticate(self)
            except (exceptions.ConnectionError, exceptions.ServerSideError):
                raise
            except exceptions.SushyError as error:
                # A 401 that names no reason is of a service that has no sessions, or wants a user to make one.
                if _FULL.search(str(error)) or (isinstance(error, exceptions.AccessError) and _names_reason(error)):
                    raise
                self._fallback_to_basic_authentication()

    return SessionElseBasic(login.user, login.password)


def _find_system(service: Sushy, target: BmcTarget) -> System:
    """Return the target's system: the only one, else the one with its serial number or one of its MACs."""
    paths = service.get_system_collection().members_identities
    if not paths:
        raise BmcError("language", "its Redfish service has no system")
    if len(paths) == 1:
        return service.get_system(paths[0])
    for path in paths:
        system = service.get_system(path)
        if target.serial and _text(system.json.get("SerialNumber")) == target.serial:
            return system
        if target.macs:
            ports = (service._conn.get(path + "/EthernetInterfaces").json() or {}).get("Members") or []
            for port in ports:
                told = service._conn.get(port["@odata.id"]).json()
                if parse_mac(_text(told.get("MACAddress"))) in target.macs:
                    return system
    raise BmcError("refusal", f"none of its {len(paths)} systems has the serial number or a MAC address of {target.name}")


@contextlib.contextmanager
def _explained(login: BmcLogin) -> Iterator[None]:
    """Turn what sushy and requests raise into BmcError."""
    from requests import exceptions as requests_errors
    from sushy import exceptions

    try:
        yield
    except BmcError:
        raise
    except json.JSONDecodeError as error:
        raise BmcError("starting", f"what answers is no Redfish, or not yet: {shorten(error)[:120]}") from None
    except exceptions.HTTPError as error:
        raise _explain_status(error) from None
    except (exceptions.ConnectionError, requests_errors.ConnectionError, requests_errors.Timeout) as error:
        raise _explain_connection(str(error), login) from None
    except (exceptions.MissingAttributeError, exceptions.MalformedAttributeError) as error:
        raise BmcError("language", f"what answers is no Redfish: {_short(error)}") from None
    except exceptions.SushyError as error:
        raise BmcError("refusal", _short(error)) from None
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        # A JSONDecodeError of requests, which is a ValueError, is an OSError too.
        raise BmcError("language", f"what answers is no Redfish: {shorten(error)[:120]}") from None
    except OSError as error:
        raise _explain_connection(str(error), login) from None
    except (
        Exception
    ) as error:  # nobody knows what a library makes of what a BMC makes up; the others are to be visited all the same
        raise BmcError("language", f"what answers is no Redfish: {type(error).__name__}: {shorten(error)[:120]}") from None


def _may_be_done(error: BmcError) -> bool:
    """Return whether what was sent may have been carried out: it went out, and no answer or a gateway's came back."""
    said = error.__context__
    if error.cause == "silent":  # urllib3's errors by name: whoever could not connect sent nothing
        return not re.search("ConnectTimeoutError|NewConnectionError", str(said))
    status = getattr(said, "status_code", 0)
    return error.cause == "busy" and status != HTTPStatus.SERVICE_UNAVAILABLE


def _names_reason(error: Any) -> bool:
    told = error.extended_info if isinstance(error.extended_info, list) else [error.extended_info]
    ids = [error.code, *(info.get("MessageId") for info in told if isinstance(info, dict))]
    return any(id_ and not str(id_).endswith("GeneralError") for id_ in ids)


def _explain_status(error: Any) -> BmcError:
    """Return what an HTTP status means, by sushy's class of it and the BMC's own words."""
    from sushy import exceptions

    if _FULL.search(str(error)):
        return BmcError("busy", f"it has no session to spare: {_short(error)}")
    if isinstance(error, exceptions.AccessError):
        return BmcError("login", f"wrong user or password, or no right to do this: {_short(error)}")
    if isinstance(error, exceptions.ServerSideError):
        return BmcError("busy", f"its own error: {_short(error)}")
    if isinstance(error, exceptions.ResourceNotFoundError) and error.body is None:
        return BmcError("starting", "what answers is no Redfish, or not yet: a page that is not there")
    return BmcError("refusal", _short(error))


def _explain_connection(text: str, login: BmcLogin) -> BmcError:
    if "Fingerprints did not match" in text or "fingerprint" in text.lower():
        fix = f"if it was replaced, delete its line from {known_bmcs()}"
        return BmcError("certificate", f"its certificate is another one than at the first visit; {fix}")
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return BmcError("certificate", "no authority that this machine trusts has signed its certificate")
    if "refused" in text:
        return BmcError("refused", "nobody listens at the port")
    if "SSL" in text or "WRONG_VERSION" in text:
        return BmcError("language", "it speaks no TLS that this machine accepts")
    if "imed out" in text or "imeout" in text:
        return BmcError("silent", f"no answer in {login.answer_s:g} s")
    return BmcError("silent", f"the connection broke: {shorten(text)[:120]}")


def _short(error: Exception) -> str:
    # sushy repeats the message as the list that it came in.
    return shorten(str(error).partition(" Extended information:")[0])[:200]


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _enum(name: str, value: str) -> Any:
    import sushy
    from sushy.resources import constants
    from sushy.resources.system import constants as system_constants

    for module in (system_constants, constants, sushy):
        kind = getattr(module, name, None)
        if kind is not None:
            return kind(value)
    raise AttributeError(name)

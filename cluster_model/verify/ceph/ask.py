"""Ask a Ceph that runs how it is, on a host with one of its monitors. It only reads, and no key or password leaves the host."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from cluster_model.plan.model import Plan
from cluster_model.plan.model.ceph import CephCluster
from cluster_model.render.ceph.objects import list_options
from cluster_model.transport.gear_text import clean_data, clean_line
from cluster_model.transport.session import Answer, Login, Opener, Session, Target, UnreachableError
from cluster_model.verify.ceph.answers import Answers
from cluster_model.verify.read.collect import find_address

FORMAT = "gpuyard-ceph-1"
CONNECT_S, LIMIT_S = 15, 45
"""Seconds within which `ceph` has to find a monitor, and to be done: without a manager some of its commands wait for ever."""
QUESTIONS = {
    "status": "status",
    "quorum": "quorum_status",
    "clocks": "time-sync-status",
    "managers": "mgr stat",
    "versions": "versions",
    "tree": "osd tree",
    "pools": "osd pool ls detail",
    "rules": "osd crush rule dump",
    "options": "config dump",
    "users": "auth ls",
    "files": "fs dump",
    "use": "osd df",
    "services": "service dump",
}
"""What is asked, as `ceph` takes it. The first tells whether anybody answers."""
OF_MANAGERS = {"services", "use"}
"""What managers answer, and is missing where none runs."""
TELLS = ["id", "realm_name", "zone_name", "frontend_config#0"]
"""What is read of what gateways tell of themselves."""
DRIFT = "mon_clock_drift_allowed"
"""Option that is read although it is not planned."""
DOCUMENT = ("{", "[{", "[]")
"""How the line with an answer begins; `[errno 2]` is a complaint."""
TEXT = 1 << 16
"""Longest text of one value, in characters."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a host answered for the cluster, and who did not; without `host` nobody answered.

    Each reason is in one line. It was asked `at` (epoch, s).
    """

    host: str = ""
    answers: Mapping[str, Any] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    at: float = 0.0


def ask_ceph(plan: Plan, login: Login, opener: Opener) -> Asked:
    """Return what the first host with a planned monitor answers that can."""
    servers = {server.name: server for server in plan.servers}
    reasons: dict[str, str] = {}
    for monitor in plan.ceph.monitors:
        try:
            session = opener(Target(monitor.name, find_address(plan, servers[monitor.name])), login)
            try:
                return Asked(monitor.name, _ask(session, plan.ceph), reasons, time.time())
            finally:
                session.close()
        except UnreachableError as error:
            reasons[monitor.name] = str(error)
    return Asked(reasons=reasons, at=time.time())


def _ask(session: Session, ceph: CephCluster) -> dict[str, Any]:
    """Return what a host answers; UnreachableError where it does not answer what has to be known."""
    first, *others = (name for name in QUESTIONS if name != "services" or ceph.store)
    said = dict(zip([first], session.ask([_word(first, ceph)]), strict=True))
    if (found := _read(said[first])) is None:
        raise UnreachableError(_complain(said[first]))
    if found.get("fsid") == ceph.fsid:  # of another cluster nothing else is of use
        said |= zip(others, session.ask([_word(name, ceph) for name in others]), strict=True)
    answers = {}
    for name, answer in said.items():
        answers[name] = _read(answer)
        if answers[name] is None and name not in OF_MANAGERS:
            raise UnreachableError(f"ceph {QUESTIONS[name]}: {_complain(answer)}")
    return {name: answer for name, answer in answers.items() if answer is not None}


def _word(name: str, ceph: CephCluster) -> str:
    """Return a question as a shell on the host takes it, which prints the answer first and what else is said after it.

    Where there is no `ceph`, cephadm has one in a container; hosts that it was not begun on have cephadm itself among their data.
    """
    inside = f"shell --fsid {ceph.fsid} -- ceph"
    find = (
        'PATH=$PATH:/usr/sbin:/sbin; if [ "$(id -u)" = 0 ]; then as=; else as="sudo -n"; fi; '
        "if command -v ceph >/dev/null; then how=ceph; "
        f'elif command -v cephadm >/dev/null; then how="cephadm {inside}"; '
        f"else file=$($as sh -c 'ls -t /var/lib/ceph/{ceph.fsid}/cephadm.* 2>/dev/null | head -n 1'); "
        f'[ -n "$file" ] || {{ echo neither ceph nor cephadm is there; exit 127; }}; how="python3 $file {inside}"; fi'
    )
    ask = f"$as timeout -k 5 {LIMIT_S} $how --connect-timeout={CONNECT_S} {QUESTIONS[name]} --format=json"
    less = _shorten(name, ceph)
    pipe = f' | python3 -c "import json, sys; said = json.load(sys.stdin); print(json.dumps({less}))" 2>/dev/null' if less else ""
    return f'{find}; exec 3>&1; said=$({{ {ask}{pipe}; }} 2>&1 1>&3); code=$?; echo; echo "$said"; exit $code'


def _shorten(name: str, ceph: CephCluster) -> str:
    """Return what an answer is made into on the host, in Python, since keys and passwords in it stay there; empty for none."""
    if name == "users":
        return "{one['entity']: one['caps'] for one in said['auth_dump']}"
    if name == "options":
        names = sorted({option["name"] for option in list_options(ceph)} | {DRIFT})
        return f"[one for one in said if one['name'] in {names}]"
    if name == "services":
        return (
            "{'services': {'rgw': {'daemons': {number: "
            "{'metadata': {key: one['metadata'][key] for key in KEYS if key in one['metadata']}} "
            "for number, one in said['services'].get('rgw', {}).get('daemons', {}).items() if number != 'summary'}}}}"
        ).replace("KEYS", repr(TELLS))
    return ""


def _read(answer: Answer) -> Any:
    """Return the document in an answer, which is its first line that looks like one; None where there is none."""
    line = next((line for line in answer.text.splitlines() if line.startswith(DOCUMENT)), "") if answer.ok else ""
    try:
        return clean_data(json.loads(line), TEXT) if line else None
    except (ValueError, RecursionError):
        return None


def _complain(answer: Answer) -> str:
    lines = [line for line in answer.text.splitlines() if line.strip() and not line.startswith(DOCUMENT)]
    if lines:
        return clean_line(lines[-1], 500)
    return "its answer is no JSON" if answer.ok else f"no answer within {LIMIT_S} s"


def read_answers(asked: Asked) -> Answers:
    """Return what was answered, in its form.

    Raises:
        ValueError: it is of another form; the text says where.
    """
    try:
        return Answers.model_validate(asked.answers)
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def find_fsid(asked: Asked) -> str:
    """Return the id of the cluster that answered; empty where it is not there."""
    status = asked.answers.get("status")
    return str(status.get("fsid", "")) if isinstance(status, Mapping) else ""


def dump_asked(asked: Asked) -> str:
    """Return what was answered as JSON, for `load_asked`."""
    members = {"host": asked.host, "at": asked.at, "reasons": dict(asked.reasons), "answers": dict(asked.answers)}
    return json.dumps({"format": FORMAT, **members}, separators=(",", ":")).replace('},{"', '},\n{"') + "\n"


def load_asked(text: str) -> Asked:
    """Return what `dump_asked` wrote.

    Raises:
        ValueError: it did not write this; the text says what is wrong.
    """
    try:
        document = clean_data(json.loads(text), TEXT)
    except (ValueError, RecursionError):
        raise ValueError("it is no JSON") from None
    form: Mapping[str, type | tuple[type, ...]] = {"host": str, "at": (int, float), "reasons": dict, "answers": dict}
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f"it is not of the form {FORMAT}")
    if strange := [name for name, kind in form.items() if not isinstance(document.get(name), kind)]:
        raise ValueError(f"expected {', '.join(strange)}")
    return Asked(document["host"], document["answers"], document["reasons"], document["at"])


def list_reasons(reasons: Mapping[str, str]) -> Sequence[str]:
    """Return each host that did not answer, with why."""
    return [f"{host}: {reason}" for host, reason in reasons.items()]

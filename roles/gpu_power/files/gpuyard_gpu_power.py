#!/usr/bin/python3
"""Cap the power of this server's GPUs: at all times, by hour, and while a power feed is lost.

    gpuyard-gpu-power apply [--dry-run]     bring every GPU to the limit that holds now
    gpuyard-gpu-power check [--textfile F]  compare, change nothing; F is for node_exporter's textfile collector
    gpuyard-gpu-power feed lost|back        note that a feed is lost or back, then apply
    gpuyard-gpu-power show                  what would hold now, and why

The policy is /etc/gpuyard/gpu-power.json, written by the role gpu_power. All watts are per GPU; 0 is a GPU's own default.
nvidia-smi asks the GPUs and sets them; a GPU that does not answer does not keep the others from being set.

Exit codes: 0 as it should be; 1 a limit differs (check); 2 refused, and nothing was changed; 3 a GPU is missing or did not
take its limit, and the others have theirs.
"""

from __future__ import annotations

import argparse
import datetime
import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

POLICY = Path("/etc/gpuyard/gpu-power.json")
STATE = Path("/var/lib/gpuyard/gpu-power-feed-lost")
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
FIELDS = "index,persistence_mode,power.limit,power.default_limit,power.min_limit,power.max_limit"
TIMEOUT_S = 120  # a GPU that has fallen off the bus can hold nvidia-smi for a minute


class RefusedError(Exception):
    """Nothing may be changed; the text says why, one fault a line."""


class Gpu(NamedTuple):
    """A GPU that answers: its limits in W, and whether the driver keeps them without a client."""

    index: int
    persistent: bool
    limit_w: float
    default_w: float
    min_w: float
    max_w: float


def read_policy(text: str) -> dict[str, Any]:
    """Return the policy in this JSON text, or refuse it with all its faults."""
    try:
        policy = json.loads(text)
        faults = list(find_faults(policy))
    except (ValueError, KeyError, TypeError) as error:
        raise RefusedError(f"{POLICY}: not a policy ({error!r}); run the role gpu_power again") from None
    if faults:
        raise RefusedError("\n".join(faults))
    return dict(policy)


def find_faults(policy: dict[str, Any]) -> list[str]:
    """Return what is wrong with a policy, without asking a GPU."""
    faults = []
    try:
        find_zone(policy["timezone"])
    except (ZoneInfoNotFoundError, ValueError, OSError):
        faults.append(f"timezone: {policy['timezone']}; not in /usr/share/zoneinfo; install tzdata or name a zone such as UTC")
    for window in policy["schedule"]:
        for key in ("from", "to"):
            try:
                datetime.time.fromisoformat(window[key])
            except ValueError:
                faults.append(f"schedule {window['name']}: {key} {window[key]}; expected HH:MM")
        odd = [day for day in window["days"] if day not in DAYS]
        faults += [f"schedule {window['name']}: day {day}; expected {', '.join(DAYS)}" for day in odd]
    return faults


def find_zone(name: str) -> datetime.tzinfo:
    """Return a time zone; UTC needs no zone files."""
    return datetime.timezone.utc if name == "UTC" else ZoneInfo(name)  # noqa: UP017


def is_open(window: dict[str, Any], now: datetime.datetime) -> bool:
    """Return whether a window of the schedule holds now. One that ends before it begins runs past midnight."""
    begin, end = (datetime.time.fromisoformat(window[key]) for key in ("from", "to"))
    today, yesterday = (DAYS[(now.weekday() - back) % 7] in (window["days"] or DAYS) for back in (0, 1))
    if begin < end:
        return today and begin <= now.time() < end
    return (today and now.time() >= begin) or (yesterday and now.time() < end)


def find_limit(policy: dict[str, Any], now: datetime.datetime, feed_lost: bool) -> tuple[int, str]:
    """Return the watts that hold now, 0 for a GPU's own default, and why: the lowest of what applies."""
    limits = [(policy["cap_w"], "cap at all times")] if policy["cap_w"] else []
    local = now.astimezone(find_zone(policy["timezone"]))
    limits += [(window["watts"], f"schedule {window['name']}") for window in policy["schedule"] if is_open(window, local)]
    if policy["on_feed_loss"] == "always-cap" and policy["cap_feed_lost_w"]:
        limits.append((policy["cap_feed_lost_w"], "as if a power feed were lost, always"))
    elif feed_lost and policy["on_feed_loss"] == "cap" and policy["cap_feed_lost_w"]:
        limits.append((policy["cap_feed_lost_w"], "a power feed is lost"))
    return min(limits) if limits else (0, "no cap")


def list_limits(policy: dict[str, Any]) -> list[tuple[int, str]]:
    """Return every limit that can ever hold."""
    found = [(policy["cap_w"], "cap_w"), (policy["cap_feed_lost_w"], "cap_feed_lost_w")]
    found += [(window["watts"], f"schedule {window['name']}") for window in policy["schedule"]]
    return [(watts, name) for watts, name in found if watts]


def run_smi(*arguments: str) -> tuple[int, str]:
    """Run nvidia-smi and return its exit status and all that it said."""
    try:
        done = subprocess.run(["nvidia-smi", *arguments], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except FileNotFoundError:
        raise RefusedError("nvidia-smi: not found; install the driver first (role nvidia_driver)") from None
    except subprocess.TimeoutExpired:
        return 124, f"no answer in {TIMEOUT_S} s"
    return done.returncode, (done.stdout + done.stderr).strip()


def query(*which: str) -> tuple[list[Gpu], str]:
    """Return the GPUs that answer, and what nvidia-smi said that was no answer."""
    _, said = run_smi(*which, f"--query-gpu={FIELDS}", "--format=csv,noheader,nounits")
    gpus, rest = [], []
    for line in said.splitlines():
        try:
            index, persistence, *watts = (field.strip() for field in line.split(","))
            gpus.append(Gpu(int(index), persistence == "Enabled", *map(float, watts)))
        except (ValueError, TypeError):  # a sentence, or [N/A] for a GPU that has no limits
            rest.append(line.strip())
    return gpus, " ".join(rest)


def find_gpus(count: int) -> tuple[list[Gpu], dict[int, str]]:
    """Return the GPUs that answer, and why each of the others does not. One that is lost can silence a query for all."""
    gpus, said = query()
    found = {gpu.index: gpu for gpu in gpus}
    silent = {}
    for index in range(count):
        if index not in found:
            alone, said = query("-i", str(index))
            if alone and alone[0].index == index:
                found[index] = alone[0]
            else:
                silent[index] = said or "no answer"
    return [found[index] for index in sorted(found)], silent


def refuse_out_of_range(policy: dict[str, Any], gpus: list[Gpu]) -> None:
    """Refuse a policy with a limit that a GPU would not take, whenever it would hold."""
    faults = [
        f"{name}: {watts} W; GPU {gpu.index} takes {gpu.min_w:.0f} to {gpu.max_w:.0f} W"
        for watts, name in list_limits(policy)
        for gpu in gpus
        if not gpu.min_w <= watts <= gpu.max_w
    ]
    if faults:
        raise RefusedError("\n".join([*faults, "nothing was changed; set a value in that range"]))


def compare(policy: dict[str, Any], gpus: list[Gpu], now: datetime.datetime, feed_lost: bool) -> list[tuple[Gpu, int]]:
    """Return each GPU with the limit that it should have now, W."""
    watts, _ = find_limit(policy, now, feed_lost)
    return [(gpu, watts or round(gpu.default_w)) for gpu in gpus]


def apply(policy: dict[str, Any], now: datetime.datetime, *, feed_lost: bool, dry_run: bool) -> int:
    """Bring every GPU that answers to its limit, and read all back: a refusal can come with exit status 0."""
    gpus, silent = find_gpus(policy["count"])
    refuse_out_of_range(policy, gpus)
    _, why = find_limit(policy, now, feed_lost)
    told = {}
    wanted = [(gpu, watts) for gpu, watts in compare(policy, gpus, now, feed_lost) if round(gpu.limit_w) != watts]
    for gpu, watts in wanted:
        say(f"{'would set' if dry_run else 'set'} GPU {gpu.index} from {gpu.limit_w:.0f} to {watts} W: {why}")
        if not dry_run:
            _, told[gpu.index] = run_smi("-i", str(gpu.index), "-pl", str(watts))
    failed = dict(silent)
    if told:
        after = {gpu.index: round(gpu.limit_w) for gpu in find_gpus(policy["count"])[0]}
        failed |= {gpu.index: told[gpu.index] for gpu, watts in wanted if after.get(gpu.index) != watts}
    for index, reason in sorted(failed.items()):
        say(f"GPU {index} is not at its limit: {reason}", error=True)
    return 3 if failed else 0


def check(policy: dict[str, Any], now: datetime.datetime, *, feed_lost: bool, textfile: str) -> int:
    """Compare limits with the policy and change nothing; write them for node_exporter where a file is named."""
    gpus, silent = find_gpus(policy["count"])
    wanted = compare(policy, gpus, now, feed_lost)
    drifted = [(gpu, watts) for gpu, watts in wanted if round(gpu.limit_w) != watts]
    for gpu, watts in drifted:
        say(f"GPU {gpu.index} is at {gpu.limit_w:.0f} W, expected {watts} W; run: gpuyard-gpu-power apply", error=True)
    for index, reason in sorted(silent.items()):
        say(f"GPU {index} does not answer: {reason}", error=True)
    for gpu in gpus:
        if not gpu.persistent:
            say(f"GPU {gpu.index}: persistence mode is off, so a limit goes with the last client; enable nvidia-persistenced")
    if textfile:
        write(Path(textfile), format_metrics(policy, wanted, feed_lost))
    return 3 if silent else int(bool(drifted))


def format_metrics(policy: dict[str, Any], wanted: list[tuple[Gpu, int]], feed_lost: bool) -> str:
    """Return metrics in Prometheus' text form."""
    rows = {
        "gpuyard_gpu_power_expected_gpus": [("", policy["count"])],
        "gpuyard_gpu_power_answering_gpus": [("", len(wanted))],
        "gpuyard_gpu_power_feed_lost": [("", int(feed_lost))],
        "gpuyard_gpu_power_limit_watts": [(f'{{gpu="{gpu.index}"}}', round(gpu.limit_w)) for gpu, _ in wanted],
        "gpuyard_gpu_power_expected_watts": [(f'{{gpu="{gpu.index}"}}', watts) for gpu, watts in wanted],
    }
    return "".join(
        f"# TYPE {name} gauge\n" + "".join(f"{name}{labels} {value}\n" for labels, value in values)
        for name, values in rows.items()
    )


def write(path: Path, text: str) -> None:
    """Put a file in its place at one stroke, readable by all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f"{path.name}.new")
    half.write_text(text, "utf-8")
    half.chmod(0o644)
    half.replace(path)


def say(text: str, *, error: bool = False) -> None:
    """Print a line; under systemd an error carries its priority."""
    stream, mark = (sys.stderr, "<3>" if "JOURNAL_STREAM" in os.environ else "") if error else (sys.stdout, "")
    for line in text.splitlines():
        stream.write(f"{mark}{line}\n")


def main(arguments: list[str]) -> int:
    """Do what the command line says and return the exit code."""
    parser = argparse.ArgumentParser(prog="gpuyard-gpu-power", description="Power limits of this server's GPUs.")
    parser.add_argument("--policy", help="JSON text in place of the file")
    parser.add_argument("--now", help="another time, ISO 8601 with an offset, for a look ahead")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("apply", help="set what differs").add_argument("--dry-run", action="store_true")
    verbs.add_parser("check", help="compare only").add_argument("--textfile", default="")
    verbs.add_parser("feed", help="a power feed is lost or back").add_argument("state", choices=("lost", "back"))
    verbs.add_parser("show", help="what holds now")
    options = parser.parse_args(arguments)
    now = datetime.datetime.fromisoformat(options.now) if options.now else datetime.datetime.now().astimezone()
    try:
        policy = read_policy(options.policy or POLICY.read_text("utf-8"))
        if options.verb == "show":
            watts, why = find_limit(policy, now, STATE.exists())
            say(f"{watts or 'default'} W per GPU: {why}")
            return 0
        if options.verb == "check":
            return check(policy, now, feed_lost=STATE.exists(), textfile=options.textfile)
        if options.verb == "apply" and options.dry_run:
            return apply(policy, now, feed_lost=STATE.exists(), dry_run=True)
        STATE.parent.mkdir(parents=True, exist_ok=True)
        with (STATE.parent / "gpu-power.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # the timer and a lost feed may come together
            if options.verb == "feed":
                STATE.touch() if options.state == "lost" else STATE.unlink(missing_ok=True)
            return apply(policy, now, feed_lost=STATE.exists(), dry_run=False)
    except FileNotFoundError as error:
        say(f"{error.filename}: not there; run the role gpu_power", error=True)
    except RefusedError as refusal:
        say(str(refusal), error=True)
    return 2


if __name__ == "__main__":
    os.umask(0o022)  # whoever runs it: others keep their state in the same folder, and node_exporter reads the textfile
    sys.exit(main(sys.argv[1:]))

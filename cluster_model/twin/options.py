"""What to run of a twin, and where."""

from __future__ import annotations

from dataclasses import dataclass, field

from cluster_model.twin.ethernet.scope import Sampling
from cluster_model.twin.report import HERE


@dataclass(frozen=True, slots=True)
class Options:
    """What to run: how much of the cluster, which networks (none: all), and which parts beside the trials.

    `elsewhere`: whether what this kernel cannot carry is tried in the small machine. `slowness`: how many times longer things
    may take; `timers`: how many times longer BFD and BGP wait than rendered; `place`: what rows say of where they were tried.
    """

    sampling: Sampling = field(default_factory=Sampling)
    networks: tuple[str, ...] = ()
    faults: bool = True
    mistakes: bool = True
    elsewhere: bool = True
    slowness: float = 1.0
    timers: float = 1.0
    place: str = HERE

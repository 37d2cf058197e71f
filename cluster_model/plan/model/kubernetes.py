"""Kubernetes as planned: nodes, and what tenants may use."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Node:
    """A server of the cluster, as Kubernetes knows it. `labels` are (key, value), in the order of their keys."""

    name: str
    group: str
    is_control: bool
    is_worker: bool
    labels: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Kubernetes:
    """The cluster; nothing in it where the intent has no Kubernetes."""

    version: str = ""
    queueing: str = "none"  # volcano | none
    pod_pool: str = ""
    nodes: tuple[Node, ...] = ()

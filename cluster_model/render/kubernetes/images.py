"""kubernetes/images.txt: every image that the cluster pulls, for a registry that mirrors them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cluster_model.plan.model import Plan
from cluster_model.render.kubernetes.charts import Image, list_charts, mirror


def list_images(plan: Plan, more: Iterable[Image] = ()) -> list[Image]:
    """Return the images of the charts that a cluster installs, each once, in the order of their references.

    Args:
        plan: the plan.
        more: images that no chart runs, such as those of the control plane.
    """
    charts = {image for chart in list_charts(plan) for image in chart.images if image.rdma in ("", plan.kubernetes.rdma)}
    images = charts | set(more)
    return sorted(images, key=lambda image: image.reference)


def render_images(plan: Plan, more: Iterable[Image] = (), missing: str = "") -> Iterator[tuple[str, bytes]]:
    """Yield the list: an image a line, and behind it where the cluster's own registry holds it, if there is one.

    Args:
        plan: the plan.
        more: images that no chart runs, such as those of the control plane.
        missing: a sentence on images that are not known, for a comment in the first line.
    """
    lines = [f"# {missing}\n"] if missing else []
    for image in list_images(plan, more):
        held = f" {mirror(plan.kubernetes, image.name)}:{image.tag}" if plan.kubernetes.registry else ""
        lines.append(f"{image.reference}{held}\n")
    yield "kubernetes/images.txt", "".join(lines).encode()

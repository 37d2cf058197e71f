"""What the files under boot/ share: where the boot server is, references to fill, and the templates."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from cluster_model.paths import TEMPLATES
from cluster_model.plan.model import Plan
from cluster_model.render.switch.environment import name_secret


def locate_boot_server(plan: Plan) -> str:
    """Return the boot server's URL without a slash at the end; empty where there is none."""
    server = plan.provisioning.boot_server
    return f"http://{server.address}" if server else ""


def list_resolvers(plan: Plan) -> tuple[str, ...]:
    """Return the resolvers that hosts are told: the site's, else our own name servers."""
    return plan.site.dns or tuple(server.address for server in plan.provisioning.servers)


def list_time_servers(plan: Plan) -> tuple[str, ...]:
    """Return the time servers that hosts are told: the site's, else our own."""
    return plan.site.ntp or tuple(server.address for server in plan.provisioning.servers)


def name_token(host: str) -> str:
    """Return the reference of a host's token."""
    return name_secret(f"boot-token-{host}")


def name_image_sum(image: str) -> str:
    """Return the reference of an image's SHA-256, which is known once the image is built."""
    return "{{gpuyard-image:" + image + "}}"


@cache
def boot_environment() -> Environment:
    """Return the templates of boot/ and dns/."""
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
        autoescape=False,
    )

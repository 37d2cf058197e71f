"""What the files under boot/ share: where the boot server is, what hosts are told, and the templates."""

from __future__ import annotations

from jinja2 import Environment

from cluster_model.paths import TEMPLATES
from cluster_model.plan.model import Plan
from cluster_model.render.templating import open_templates


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


def boot_environment() -> Environment:
    """Return the templates of boot/ and dns/."""
    return open_templates(TEMPLATES)

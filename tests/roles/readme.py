"""Write a role's README.md from its argument specs, so that no page says what the role does not."""

import re
from typing import Any

import yaml

from roles import ROOT, read, read_defaults, read_specs

MARKUP = [
    (re.compile(r"[CVOEFP]\(([^)]*)\)"), r"`\1`"),
    (re.compile(r"B\(([^)]*)\)"), r"**\1**"),
    (re.compile(r"I\(([^)]*)\)"), r"*\1*"),
]
LONGEST = 60


def render_readme(role: str) -> str:
    """Return the README of a role."""
    meta = read(ROOT / "roles" / role / "meta/main.yml")
    specs = read_specs(role)
    main = specs["main"]
    others = sorted(set(specs) - {"main"})
    lines = [f"# {role}", "", f"{plain(main['short_description'])}.", ""]
    lines += [*(plain(line) + "\n" for line in as_list(main.get("description"))), *describe_use(role, meta)]
    lines += describe_options(role, main.get("options") or {})
    for entry in others:
        about = specs[entry]
        lines += [f"## `tasks_from: {entry}`", "", *(plain(line) + "\n" for line in as_list(about["short_description"]))]
        lines += [*(plain(line) + "\n" for line in as_list(about.get("description")))]
        lines += describe_options(role, about.get("options") or {})
    lines += describe_tests(role, meta)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def describe_use(role: str, meta: dict[str, Any]) -> list[str]:
    needs = [one["role"] if isinstance(one, dict) else one for one in meta.get("dependencies") or []]
    lines = ["```yaml", "- hosts: all", "  become: true", "  roles:", f"    - role: gpuyard.cluster.{role}", "```", ""]
    return [*lines, f"Depends on {', '.join(f'`{need}`' for need in needs)}.\n"] if needs else lines


def describe_options(role: str, options: dict[str, Any]) -> list[str]:
    if not options:
        return []
    defaults = read_defaults(role)
    rows = ["| variable | type | default | meaning |", "|---|---|---|---|"]
    for name, option in options.items():
        rows += describe_option(
            name, option, "required" if option.get("required") else show(defaults.get(name, option.get("default")))
        )
    return [*rows, ""]


def describe_option(name: str, option: dict[str, Any], default: str) -> list[str]:
    """Return the row of an option, then those of what is inside it."""
    kind = option.get("type", "str")
    if kind == "list" and option.get("elements"):
        kind = f"list of {option['elements']}"
    meaning = " ".join(plain(line) for line in as_list(option["description"]))
    if option.get("choices"):
        meaning += f" One of {', '.join(f'`{choice}`' for choice in option['choices'])}."
    rows = [f"| `{name}` | {kind} | {default} | {cell(meaning)} |"]
    for inner, about in (option.get("options") or {}).items():
        rows += describe_option(
            f"{name}[].{inner}" if kind.startswith("list") else f"{name}.{inner}",
            about,
            "required" if about.get("required") else show(about.get("default")),
        )
    return rows


def describe_tests(role: str, meta: dict[str, Any]) -> list[str]:
    platforms = [one["name"] for one in meta["galaxy_info"]["platforms"]]
    others = " and ".join({"EL": "Rocky"}.get(name, name) for name in platforms if name != "Debian")
    line = f"Converged in containers of Debian 12 by `molecule/{role}`."
    if others:
        own = any((ROOT / "roles" / role / "tasks").glob("*redhat*.yml"))
        steps = f"For {others} there are task paths" if own else f"On {others} it takes the same steps"
        line += f" {steps}; their arguments, templates and syntax are tested, but on no such host."
    return ["## Tested", "", line]


def show(value: Any) -> str:
    """Return a default as a cell: a text that is computed is cut short, since the file beside has it whole."""
    if value is None or value == "":
        return "empty"
    text = (
        value
        if isinstance(value, str)
        else yaml.safe_dump(value, default_flow_style=True, width=1000).strip().removesuffix("\n...")
    )
    if len(text) > LONGEST:
        return "see defaults/main.yml"
    return f"`{cell(text)}`"


def cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|")


def plain(text: str) -> str:
    """Return Ansible's markup as Markdown."""
    for pattern, replacement in MARKUP:
        text = pattern.sub(replacement, text)
    return text


def as_list(value: Any) -> list[str]:
    return [] if value is None else [value] if isinstance(value, str) else list(value)

"""Jinja for switch templates: strict, cached, and with faults that name the template's own file and line."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from jinja2 import Environment, Template, TemplateError

from cluster_model.diagnostic import Diagnostic
from cluster_model.references import name_secret
from cluster_model.render.templating import open_templates


class SwitchTemplateError(Exception):
    """A template cannot be rendered. `finding` says where and why."""

    def __init__(self, finding: Diagnostic) -> None:
        super().__init__(finding.summary)
        self.finding = finding


@cache
def load_main(folder: Path, nos: str) -> Template | None:
    """Return the compiled main.j2 of a network OS, or None where it has none."""
    if not (folder / nos / "main.j2").is_file():
        return None
    try:
        return _environment(folder).get_template(f"{nos}/main.j2")
    except TemplateError as error:
        raise SwitchTemplateError(_find(folder, nos, error)) from error


def render_files(main: Template, folder: Path, context: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (file name, text) of each `file` block that a main.j2 reaches, in its order."""
    files: dict[str, str] = {}

    def file(name: str, caller: Callable[[], str]) -> str:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not path.parts:
            raise ValueError(f"{name!r} is no path below the switch's folder")
        if name in files:
            raise ValueError(f"{name!r} is written twice")
        files[name] = caller()
        return ""

    nos = (main.name or "").partition("/")[0]
    try:
        rest = main.render(context, file=file)
        if rest.strip():
            raise ValueError(f"text outside of a file block: {rest.strip().splitlines()[0]!r}")
    except Exception as error:  # a template may raise anything; it is data that a user wrote
        raise SwitchTemplateError(_find(folder, nos, error, context)) from error
    yield from files.items()


def _environment(folder: Path) -> Environment:
    environment = open_templates(folder)
    environment.globals["secret"] = name_secret
    return environment


def _find(folder: Path, nos: str, error: Exception, context: dict[str, Any] | None = None) -> Diagnostic:
    path, line = _place(folder, error)
    path = path or folder / nos / "main.j2"
    switch = context["switch"].name if context else ""
    return Diagnostic(
        "RND001",
        "error",
        "",
        f"the template of {nos} cannot be rendered" + (f" for {switch}" if switch else ""),
        "a template that uses only what docs/add-a-switch-vendor.md lists",
        f"{type(error).__name__}: {error}",
        "mend the template at the place shown",
        _display(path),
        line,
        1,
    )


def _place(folder: Path, error: Exception) -> tuple[Path | None, int]:
    filename, line = getattr(error, "filename", None), getattr(error, "lineno", None)
    if filename and line:
        return Path(filename), line
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename.endswith(".j2") and Path(frame.filename).is_relative_to(folder):
            return Path(frame.filename), frame.lineno or 0
    return None, 1


def _display(path: Path) -> str:
    parts = path.parts
    return "/".join(parts[parts.index("templates") :]) if "templates" in parts else path.as_posix()

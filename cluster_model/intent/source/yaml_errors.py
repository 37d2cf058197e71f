"""What a YAML parser complains of, in words that name the mistake; the same for the C parser and the Python one."""

from __future__ import annotations

import re

import yaml

from cluster_model.diagnostic import Diagnostic
from cluster_model.intent.source.places import Source

_GLUED = re.compile(r"\s*(?:- )?[A-Za-z_][\w-]*:(?=[^\s/])")


def explain_yaml_error(error: yaml.MarkedYAMLError, source: Source) -> Diagnostic:
    """Return YML001 for a parser's error, placed where the mistake begins rather than where the parser gave up."""
    problem, context = error.problem or "", error.context or ""
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line, mark.column) if mark else (0, 0)
    first = (error.context_mark.line, error.context_mark.column) if error.context_mark else (line, column)
    text = source.lines[line] if line < len(source.lines) else ""
    character = text[column : column + 1]
    indent = text[: len(text) - len(text.lstrip())]

    here = (line, column)

    def report(summary: str, place: tuple[int, int], expected: str = "", fix: str = "") -> Diagnostic:
        return Diagnostic("YML001", "error", "", summary, expected, fix=fix).located(source.file, place[0] + 1, place[1] + 1)

    if "\t" in indent and column <= len(indent):
        return report("a tab stands in the indentation", (line, indent.index("\t")), "spaces", "indent with two spaces per level")
    if "alias" in problem:
        name = "".join(source.shown[line][column:].split()[:1]).rstrip(",]}")
        expected = f"an anchor &{name.lstrip('*')} further up"
        return report(f"the alias {name} names no anchor above it", here, expected, "put a text that begins with * in quotes")
    if "duplicate anchor" in context or "duplicate anchor" in problem:
        return report("duplicate anchor", here, "one anchor of a name", "give one of the two another name")
    if "escape" in problem:
        return report("YAML does not know this backslash escape", here, "an escape such as \\n or \\\\", "use 'single quotes'")
    if "quoted scalar" in context:
        return report("a quote is opened here and never closed", first, "a closing quote", "close the quote")
    if "node content" in problem:
        found = character or "the end of the file"
        return report(f"{found} stands where a value belongs", here, "a value", "write the value")
    if "flow" in context:
        opened = source.lines[first[0]][first[1] : first[1] + 1]
        closing = {"[": "]", "{": "}"}.get(opened, "bracket")
        if line > first[0]:
            return report(f"the {opened} opened here is never closed", first, f"a {closing}", f"close it with {closing}")
        summary = f"a comma or the closing {closing} is missing before this"
        return report(summary, here, f"a comma, or {closing}", "write the one that is missing")
    if "cannot start any token" in problem:
        return report(f"a value cannot begin with {character}", here, "a letter, a digit or a quote", "put the value in quotes")
    if "expected ':'" in problem:
        fix = "put a colon and one space after the key"
        return report("this key has no colon with a space after it", first, "key: value", fix)
    if "mapping values" in problem:
        glued = _GLUED.match(source.lines[line - 1]) if line else None
        if glued:
            place = (line - 1, glued.end() - 1)
            return report("no space stands behind this colon", place, "key: value", "put one space after the colon")
        return report(
            "a colon stands where no key can end",
            here,
            "one `key: value` per line, keys of one level in one column",
            "mend the indentation, or put a value that holds a colon in quotes",
        )
    if text[:column].rstrip().endswith(("'", '"')):
        return report("text stands behind a closing quote", here, "nothing behind the quote", "put the whole value in quotes")
    if "block" in context:
        expected = "keys of one level in one column"
        return report("this does not line up with anything above it", here, expected, "mend the indentation")
    return report("this is not YAML", here, "key: value", "put values with special characters in quotes")

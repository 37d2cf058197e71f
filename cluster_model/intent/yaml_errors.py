"""What a YAML parser complains of, in words that name the mistake; the same for the C parser and the Python one."""

from __future__ import annotations

import yaml

from cluster_model.diagnostic import Diagnostic
from cluster_model.intent.source import Source


def explain_yaml_error(error: yaml.MarkedYAMLError, source: Source) -> Diagnostic:
    """Return YML001 for a parser's error, placed where the mistake begins rather than where the parser gave up."""
    problem, context = error.problem or "", error.context or ""
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line, mark.column) if mark else (0, 0)
    first = (error.context_mark.line, error.context_mark.column) if error.context_mark else (line, column)
    text = source.lines[line] if line < len(source.lines) else ""
    character = text[column : column + 1]
    indent = text[: len(text) - len(text.lstrip())]

    def report(summary: str, place: tuple[int, int], expected: str = "", fix: str = "") -> Diagnostic:
        return Diagnostic("YML001", "error", "", summary, expected, fix=fix).located(source.file, place[0] + 1, place[1] + 1)

    if "\t" in indent and column <= len(indent):
        return report("a tab stands in the indentation", (line, indent.index("\t")), "spaces", "indent with two spaces per level")
    if "alias" in problem:
        name = text[column:].split()[0] if text[column:].split() else ""
        return report(f"the alias {name} names no anchor above it", (line, column), f"an anchor &{name.lstrip('*')} further up")
    if "duplicate anchor" in context or "duplicate anchor" in problem:
        return report("the anchor stands twice", (line, column), fix="give one of the two another name")
    if "escape" in problem:
        return report("YAML does not know this backslash escape", (line, column), fix="use 'single quotes'")
    if "quoted scalar" in context:
        return report("a quote is opened here and never closed", first, fix="close the quote")
    if "flow" in context:
        opened = source.lines[first[0]][first[1] : first[1] + 1]
        closing = {"[": "]", "{": "}"}.get(opened, "bracket")
        if line > first[0]:
            return report(f"the {opened} opened here is never closed", first, f"a {closing}", f"close it with {closing}")
        return report(f"a comma or the closing {closing} is missing before this", (line, column), f"a comma, or {closing}")
    if "cannot start any token" in problem:
        return report(f"a value cannot begin with {character}", (line, column), fix="put the value in quotes")
    if "node content" in problem:
        return report(
            f"{character or 'the end of the file'} stands where a value belongs", (line, column), fix="write the value, or quotes"
        )
    if "expected ':'" in problem:
        return report("this key has no colon with a space after it", first, "key: value", "put a colon and one space after the key")
    if "mapping values" in problem:
        return report(
            "a colon stands where no key can end",
            (line, column),
            "one `key: value` per line, keys of one level in one column",
            "mend the indentation, or put a value that holds a colon in quotes",
        )
    if "block" in context:
        return report(
            "this does not line up with anything above it",
            (line, column),
            "keys of one level in one column, nothing after a closing quote",
            "mend the indentation",
        )
    return report("this is not YAML", (line, column), fix="put values with special characters in quotes")

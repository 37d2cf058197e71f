"""Text in Kubernetes objects stays text when kubectl reads it: go-yaml knows more booleans and numbers than PyYAML."""

import pytest
import yaml

from cluster_model.render.kubernetes.objects import write_objects


@pytest.mark.parametrize(
    "text", ["y", "N", "no", "on", "1e3", "12E4", "1.", "1_0e5", "0o17", "017", "0x1f", "1_000", "", "~", ".5"]
)
def test_text_that_looks_like_something_else_is_quoted(text):
    said = write_objects("rows", [{"row": text}]).decode()
    assert f"row: '{text}'\n" in said
    assert next(yaml.safe_load_all(said)) == {"row": text}


@pytest.mark.parametrize("value", [True, False, 3, 0.5, 1e30, None, "A", "10.0.0.0/8", "1e", "e3", "no-1", "1.2.3", "-", "N1"])
def test_all_else_is_written_plain(value):
    said = write_objects("rows", [{"row": value}]).decode()
    assert f"row: {value}\n" in said or "'" not in said.replace("'-'", "")
    assert next(yaml.safe_load_all(said)) == {"row": value}

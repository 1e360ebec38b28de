"""libyaml with the rules of YAML 1.2 reads what ruamel.yaml reads, and puts it in the same places.

ruamel edits the files that this reader reads, so they must not differ.
"""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from tui.model.paths import presets_dir
from tui.model.problem import UsageError
from tui.model.yaml_text import _compose, _composer, load

PRESETS = sorted(presets_dir().rglob("*.yaml"))
# tags that both readers turn into the text as it stands
TEXTS = ("timestamp", "value", "merge", "str")
SCALARS = (
    "yes", "no", "on", "off", "Y", "n", "true", "True", "TRUE", "False", "tRUE", "~", "null",
    "Null", "NULL", "nUll",
    "010", "0o17", "0x1F", "0b101", "1_000", "+12", "-0", "1:30", "190:20:30", "1:30.5", "1e3",
    "1E3", "1e+3",
    "1.e3", "1.5e-3", ".5", ".5e3", ".5e+3", "5.", "-.5", ".", "..", ".inf", "-.INF", "+.inf",
    ".nan", ".NaN",
    "inf", "nan", "1e", "e3", "0x", "08", "09.5", "2021-01-26", "2021-1-2 3:04:05", "4k", "50:99",
    "1_0.5_0", "_1",
    "=", "<", "1,000", "0.1.2", "1e3.5", "--1", "+", "1__2", "0b2", "0o8", "12e03",
)  # fmt: skip


def tree(node: Any) -> Any:
    """Kind, tag, value and place of a node and all below it.

    An empty value has no place of its own.
    """
    tag = str(node.tag).removeprefix("tag:yaml.org,2002:")
    if isinstance(node.value, str):
        # of blocks, one counts the line break
        end = node.end_mark.index if node.style not in ("|", ">") else None
        at = (node.start_mark.line, node.start_mark.column, node.start_mark.index, end)
        return ("str" if tag in TEXTS else tag, node.value, at if node.value else None)
    children = [
        tree(child)
        for each in node.value
        for child in (each if isinstance(each, tuple) else (each,))
    ]
    return (tag, children, (node.start_mark.line, node.start_mark.column))


def of_ruamel(text: str) -> Any:
    node = YAML(typ="safe", pure=True).compose(text)
    return node and tree(node)


def of_ours(text: str) -> Any:
    node = _compose(text, "f")
    return node and tree(node)


@pytest.mark.parametrize("path", PRESETS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_preset_is_read_as_ruamel_reads_it(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert of_ours(text) == of_ruamel(text)


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("form", ["a: {}\n", "a: [{}, x]\n", "{}: a\n", "- {}\n- '{}'\n"])
def test_a_plain_scalar_is_what_ruamel_takes_it_for(scalar: str, form: str) -> None:
    text = form.replace("{}", scalar)
    assert of_ours(text) == of_ruamel(text)


@given(st.text(alphabet="0123456789.eE+-_xobinfNaNull~yYtrueTRUEfalsn:", min_size=1, max_size=8))
def test_words_and_numbers_are_distinguished_as_ruamel_does(scalar: str) -> None:
    text = f"[{scalar} ]"
    assume(not scalar.startswith("- ") and ":" not in (scalar[0], scalar[-1]) and scalar != "-")
    assert of_ours(text) == of_ruamel(text)


# libyaml wants quotes in [] and {} around words with ":" before ? [ ] { } and ",", YAML 1.2 and
# ruamel do not.
WORDS = st.sampled_from(SCALARS) | st.text(
    alphabet="abé01 #-_'\"{}[],&*!|>%@`?.\n", max_size=20
).filter(lambda word: not re.match(r"\s*[:?]", word))
VALUES = (
    WORDS
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.booleans()
    | st.none()
)
# ruamel's writer breaks long keys over lines, which is no YAML: see the test of such a key below.
KEYS = WORDS.filter(lambda word: word != "<<" and " " not in word)
DATA = st.recursive(
    VALUES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=15,
)


@given(
    st.dictionaries(KEYS, DATA, min_size=1, max_size=4),
    st.sampled_from([True, False, None]),
    st.sampled_from([20, 80]),
)
def test_a_written_document_is_read_as_ruamel_reads_it(
    data: dict[str, Any], flow: bool | None, width: int
) -> None:
    writer = YAML(typ="safe", pure=True)
    writer.default_flow_style, writer.width, writer.allow_unicode = flow, width, True
    stream = io.StringIO()
    writer.dump(data, stream)
    assert of_ours(stream.getvalue()) == of_ruamel(stream.getvalue())


def test_a_key_over_two_lines_is_refused_with_its_place() -> None:
    with pytest.raises(UsageError, match=r"^f:3:6: "):
        load("no:\n  00000000000000000 \n    0: null\nyes: []\n", "f")


@pytest.mark.parametrize(
    "text", ["- " * 60_000, "? " * 60_000, "a: " + "[{" * 60_000, "- - ? - " * 20_000 + "a"]
)
def test_nesting_without_end_is_refused_and_not_followed(text: str) -> None:
    with pytest.raises(UsageError, match=r"nest|deep|YAML"):
        load(text, "f")


@pytest.mark.parametrize("mark", ["\x85", "\u2028", "\u2029"])
def test_line_breaks_that_only_one_yaml_knows_are_refused(mark: str) -> None:
    with pytest.raises(UsageError, match=f"U\\+{ord(mark):04X} is not allowed"):
        load(f"a: b{mark}c: d\n", "f")


def test_without_libyaml_the_same_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = [load(path.read_text(encoding="utf-8"), "f") for path in PRESETS[:10]]
    monkeypatch.delattr("yaml.CSafeLoader")
    _composer.cache_clear()
    try:
        slow = [load(path.read_text(encoding="utf-8"), "f") for path in PRESETS[:10]]
    finally:
        _composer.cache_clear()
    assert [document.data for document in slow] == [document.data for document in fast]
    assert [document.keys for document in slow] == [document.keys for document in fast]

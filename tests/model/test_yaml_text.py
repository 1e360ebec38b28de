from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tui.model.problem import UsageError
from tui.model.yaml_text import MAX_CHARACTERS, load


def refusal(text: str) -> str:
    with pytest.raises(UsageError) as caught:
        load(text, "f.yaml")
    return str(caught.value)


def test_values_are_plain_data() -> None:
    text = (
        "a: 1\nb: 1.5\nc: true\nd: ~\ne: 4k\nf: [x, {y: 0x10}]\ng: 2021-01-26\nh: 50:99\ni: '5'\n"
    )
    assert load(text, "f").data == {
        "a": 1, "b": 1.5, "c": True, "d": None, "e": "4k", "f": ["x", {"y": 16}], "g": "2021-01-26",
        "h": "50:99",
        "i": "5",
    }  # fmt: skip


def test_yes_and_no_are_words() -> None:
    assert load("a: no\nb: yes\n", "f").data == {"a": "no", "b": "yes"}


def test_every_key_and_value_has_a_place() -> None:
    document = load("a:\n  bc: [x, yy]\n", "f")
    assert document.position(("a", "bc"), key=True) == (2, 3)
    assert document.position(("a", "bc")) == (2, 7)
    assert document.position(("a", "bc", 1)) == (2, 11)


def test_what_is_not_there_has_the_place_of_its_parent() -> None:
    assert load("a:\n  b: 1\n", "f").position(("a", "c", "d")) == (1, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3\n",
            "f.yaml:3:1: duplicate key 'a', first on line 1"),
        ("", "f.yaml:1:1: the file is empty; expected a mapping of keys to values"),
        ("- a\n", "f.yaml:1:1: the file must contain a mapping of keys to values"),
        ("just text", "f.yaml:1:1: the file must contain a mapping of keys to values"),
        (
            "a: !!python/object/apply:os.system [id]",
            "f.yaml:1:4: the tag 'tag:yaml.org,2002:python/object/apply:os.system' is not allowed; "
            "write plain values without tags",
        ),
        ("!mine\na: 1",
            "f.yaml:1:1: the tag '!mine' is not allowed; write plain values without tags"),
        ("a: &x {b: 1}\nc:\n  <<: *x\n",
            "f.yaml:3:3: merge keys (<<) are not supported; write the keys out"),
        ("{a: b}: c", "f.yaml:1:1: a key must be plain text"),
        ("a: .inf", "f.yaml:1:4: '.inf' is not a valid number here"),
        ("a: 'x\x00'", "f.yaml:1:6: the character U+0000 is not allowed in YAML"),
        ("a: {b: c}\nd: {e: f} }\n",
        "f.yaml:2:11: broken YAML: while parsing a block mapping: did not find expected "
         "key; wrong indentation, or an unclosed bracket or quote"),
        ("a: b: c", "f.yaml:1:5: broken YAML: mapping values are not allowed in this context; "
         "a second ': ' in the line; quote the value"),
        ("a: *nowhere", "f.yaml:1:4: broken YAML: found undefined alias 'nowhere'"),
        ("a: b\n---\nc: d\n", "f.yaml:2:1: broken YAML: expected a single document in the stream: "
                              "but found another document"),
    ],
)  # fmt: skip
def test_what_is_refused_is_pointed_at(text: str, message: str) -> None:
    assert refusal(text) == message


@pytest.mark.parametrize(
    "text", ["a: [1", "a: 'x", "a:\tb\n\tc: d", "a: b: c", "%YAML 9.9\n---\na: b", "a: @x"]
)
def test_broken_yaml_is_pointed_at(text: str) -> None:
    assert refusal(text).startswith("f.yaml:")
    assert "broken YAML" in refusal(text)


def test_all_bad_keys_come_at_once() -> None:
    assert len(refusal("a: 1\na: 2\nb: 1\nb: 2\n").splitlines()) == 2


def test_an_alias_stands_for_its_value() -> None:
    assert load("a: &x [1]\nb: *x\n", "f").data == {"a": [1], "b": [1]}


def test_aliases_that_multiply_are_stopped_early() -> None:
    lines = ["a0: &a0 [1,1,1,1,1,1,1,1,1,1]"]
    lines += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    started = time.process_time()
    assert "the file contains more than 50000 values" in refusal("\n".join(lines))
    assert time.process_time() - started < 20


def test_an_alias_in_itself_is_stopped() -> None:
    assert "nested deeper than 40 levels" in refusal("a: &x [*x]")


def test_deep_nesting_is_stopped() -> None:
    assert "nested deeper than 40 levels" in refusal("a: " + "[" * 20_000)


def test_a_huge_file_is_stopped() -> None:
    assert f"at most {MAX_CHARACTERS} are allowed" in refusal("# " + "x" * MAX_CHARACTERS)


def test_a_number_of_thousands_of_digits_is_stopped() -> None:
    assert "is not a valid number here" in refusal("a: " + "9" * 5000)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ab1 :-[]{},&*!|>'\"#%@`\n\t?~.<", max_size=60))
def test_any_text_is_data_or_a_clean_refusal(text: str) -> None:
    try:
        assert isinstance(load(text, "f").data, dict)
    except UsageError as error:
        assert all(problem.line and problem.column for problem in error.problems)


@given(
    st.dictionaries(
        st.from_regex(r"[a-z]{1,5}", fullmatch=True), st.integers(-(10**9), 10**9), min_size=1
    )
)
def test_the_place_of_a_value_is_where_its_text_stands(data: dict[str, int]) -> None:
    text = "".join(
        f"{name}:   {value}\n"
        for name, value in data.items()
        if name not in ("y", "n", "on", "off")
    )
    if not text:
        return
    document = load(text, "f")
    for path in document.spans:
        line, column = document.position(path)
        start, end = document.spans[path]
        assert (
            text.splitlines()[line - 1][column - 1 :] == text[start:end] == str(data[str(path[0])])
        )

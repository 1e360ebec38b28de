"""Lines of runs: widths hold for every text, texts break between words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tui.text.line import (
    Line,
    Run,
    clip,
    fit,
    folded,
    indented,
    labelled,
    padded,
    paired,
    plain_lines,
    rule,
    spread,
    whole_names,
    width_of,
    wrap,
)

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), max_size=30)
RUNS = st.lists(st.tuples(TEXTS, st.sampled_from(["text", "value", "read"])), max_size=5)


def test_two_short_facts_share_a_line_and_a_long_one_has_its_own() -> None:
    facts = [(name, (text, "text")) for name, text in (("a", "1"), ("bc", "2"), ("d", "x " * 18))]
    lines = plain_lines(paired(facts, 40))
    assert lines[0].split() == ["a", "1", "bc", "2"] and lines[0].index("bc") == 21
    assert lines[1].startswith("d   x x") and all(len(line) <= 40 for line in lines)


@given(TEXTS)
def test_a_text_is_as_wide_as_the_screens_draw_it(text: str) -> None:
    assert width_of(text) == cell_len(text)


@given(TEXTS, st.integers(0, 40), st.booleans())
def test_fitted_text_is_exactly_as_wide_as_asked(text: str, width: int, right: bool) -> None:
    assert width_of(fit(text, width, right=right)) == width


@given(RUNS, RUNS, st.integers(1, 60))
def test_spread_runs_never_exceed_the_width(left: list[Run], right: list[Run], width: int) -> None:
    assert Line(tuple(spread(left, right, width))).width <= width
    assert Line(tuple(clip(left, width))).width <= width


WORDS = st.lists(
    st.tuples(st.text("ab ⺀", max_size=30), st.sampled_from(["text", "value"])), max_size=5
)


@given(WORDS, st.integers(2, 40))
def test_wrapped_runs_fit_and_lose_nothing_but_blanks(runs: list[Run], width: int) -> None:
    lines = wrap(runs, width)
    assert all(Line(line).width <= width for line in lines)
    seen = [
        (character, role)
        for line in lines
        for text, role in line
        for character in text
        if character != " "
    ]
    assert seen == [
        (character, role) for text, role in runs for character in text if character != " "
    ]


def test_text_breaks_between_words_and_at_line_ends() -> None:
    lines = wrap([("files are ", "text"), ("written", "value"), (" whole\nonce", "text")], 12)
    assert ["".join(text for text, _ in line) for line in lines] == [
        "files are",
        "written",
        "whole",
        "once",
    ]
    assert lines[1] == (("written", "value"),)


def test_what_does_not_fit_beside_a_label_continues_under_the_text() -> None:
    lines = labelled([("Note     ", "label")], [("the second shelf was being rebuilt", "text")], 30)
    assert plain_lines(lines) == ["Note     the second shelf was", "         being rebuilt"]


def test_a_label_too_long_for_its_column_has_a_line_of_its_own() -> None:
    lines = labelled([("a-long-name", "label")], [("value", "text")], 40, 6)
    assert plain_lines(lines) == ["a-long-name", "      value"]


def test_a_value_and_its_unit_are_not_wrapped_apart() -> None:
    lines = wrap([("at 141k IOPS, p99 165 µs), 16 gives +3.5 % more", "text")], 20)
    assert ["".join(text for text, _ in line) for line in lines] == [
        "at 141k IOPS, p99",
        "165 µs), 16 gives",
        "+3.5 % more",
    ]


def test_wrapped_lines_of_an_indented_text_stand_further_right() -> None:
    assert plain_lines(indented([("one two three", "text")], 14)) == ["  one two", "    three"]


def test_a_rule_is_as_wide_as_asked_and_ends_with_its_tail() -> None:
    line = rule("Hosts", "3 of 8", 30)
    assert line.width == 30 and line.plain.endswith("─ 3 of 8")


def test_padding_goes_to_the_left_of_what_is_flush_right() -> None:
    assert (
        Line(tuple(padded([("4", "value"), (" GiB", "label")], 8, right=True))).plain == "   4 GiB"
    )


def test_a_long_line_is_broken_after_separators_and_continues_indented() -> None:
    line = Line.of(("list=", "label"), ("1:5:10:25", "value"))
    assert plain_lines(folded(line, 9)) == ["list=1:5:", "  10:25"]
    assert folded(line, 14) == [line]


@given(RUNS, st.integers(4, 30))
def test_a_folded_line_loses_nothing(runs: list[Run], width: int) -> None:
    first, *more = folded(Line.of(*runs), width)
    assert "".join([first.plain, *(line.plain[2:] for line in more)]) == Line.of(*runs).plain


def test_of_names_that_do_not_fit_whole_ones_are_left_and_the_others_counted() -> None:
    names = ["alpha", "beta", "gamma"]
    assert whole_names(names, 18, ", ") == "alpha, beta, gamma"
    assert whole_names(names, 17, ", ") == "alpha, beta, +1"
    assert whole_names(names, 10, ", ") == "alpha, +2"
    assert whole_names(names, 4, ", ") == "alp…"
    assert whole_names([], 5, ", ") == ""

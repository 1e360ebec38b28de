"""Two texts of a profile are compared by what they say about the load."""

from __future__ import annotations

import pytest

from tui.model.load_keys import (
    differing,
    digest_of,
    edited_names,
    kinds_of_params,
    load_keys,
)

TEXT = """profile: my/a
version: 1
title: reads
params: {bs: {default: 4k, kind: size}}
sweep: {grid: {bs: [4k, 8k]}}
fio: {global: {direct: 1, bs: "{bs}"}, jobs: {job: {rw: read}}}
"""


@pytest.mark.parametrize(
    "same",
    [
        f"# Made from: something else\n\n{TEXT}\n# end\n",
        TEXT.replace("{direct: 1, bs:", "{  direct: 1,  bs:"),
        TEXT.replace('{direct: 1, bs: "{bs}"}', '{bs: "{bs}", direct: 1}'),
        TEXT.replace("title: reads", "title: others\ndescription: words\nthresholds: [a]"),
        TEXT.replace("default: 4k", "default: 8k"),
        TEXT.replace("sweep: {grid: {bs: [4k, 8k]}}", "repeat: 3"),
    ],
)
def test_words_comments_spaces_order_and_what_a_record_has_do_not_differ(same: str) -> None:
    assert same != TEXT
    assert load_keys(same) == load_keys(TEXT)
    assert digest_of(load_keys(same)) == digest_of(load_keys(TEXT))


@pytest.mark.parametrize(
    ("other", "path"),
    [
        (TEXT.replace("direct: 1", "direct: 0"), "fio.global.direct"),
        (TEXT.replace("direct: 1, ", ""), "fio.global.direct"),
        (TEXT.replace("rw: read", "rw: [read]"), "fio.jobs.job.rw"),
        (TEXT.replace("kind: size", "kind: size, spread: true"), "params.bs.spread"),
        (TEXT + "drop_caches: try\n", "drop_caches"),
    ],
)
def test_a_difference_in_the_load_is_named(other: str, path: str) -> None:
    assert differing(load_keys(TEXT), load_keys(other)) == [path]


def test_a_base_counts_and_is_named() -> None:
    text = "profile: my/b\nextends: my/a\n"
    one, other = (
        load_keys(text, (("my/a", base),)) for base in (TEXT, TEXT.replace("rw: read", "rw: write"))
    )
    assert differing(one, other) == ["my/a: fio.jobs.job.rw"]


def test_a_text_that_cannot_be_parsed_differs_from_others_only() -> None:
    assert load_keys("a: [") == load_keys("a: [") != load_keys("a: [[")


OLD = """\
profile: my/reads
title: Reads
params:
  iodepth: {default: 4, kind: count, help: I/Os in flight}
fio:
  jobs:
    reads: {bs: 4k, rw: randread}
"""


@pytest.mark.parametrize(
    ("was", "now", "names"),
    [
        ("title: Reads", "title: Other words", []),
        ("help: I/Os in flight", "help: other", []),
        ("default: 4", "default: 8", ["iodepth"]),
        ("bs: 4k", "bs: 8k", ["bs"]),
        ("title: Reads", "repeat: 3", ["repeat"]),
        ("title: Reads", "extends: my/base", ["extends"]),
        ("fio:", "fio: [", ["text"]),
    ],
)
def test_what_was_edited_is_named_unless_it_is_for_people(
    was: str, now: str, names: list[str]
) -> None:
    found = edited_names(OLD, OLD.replace(was, now))
    assert found == names or (names == ["text"] and "text" in found)


def test_kinds_of_parameters_are_those_of_the_text() -> None:
    assert kinds_of_params(OLD) == {"iodepth": "count"}
    assert kinds_of_params("params: [") == kinds_of_params("params: 3") == {}

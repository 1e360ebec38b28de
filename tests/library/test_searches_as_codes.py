"""Searches keep codes; searches that have texts are read, shown, compared and verified as before."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.library.test_findings_as_codes import OLD
from tui.analysis.searches import compare_searches
from tui.export.tables import search_points
from tui.library.build import build_record
from tui.library.load import load_record, record_json, with_texts
from tui.library.record_head import SearchHead
from tui.library.runs import RunStore
from tui.library.verify import differences, verify_run
from tui.model.operands import is_clause
from tui.text.search_texts import SEARCH, search_text
from tui.view.report.searches import sizing_blocks
from tui.view.search import summary_blocks

WITH_TEXTS = ("search-as-texts", "scaling-as-texts")
TOLD = ("why", "reason", "hold", "notes", "not_tried", "contradictions", "caveat", "binding")


@pytest.fixture(params=WITH_TEXTS)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A search of the version of 2026-11-29 that kept texts."""
    source = OLD.parent / request.param
    kept = json.loads((source / "run.json").read_text())
    return Path(shutil.copytree(source, tmp_path / "runs" / kept["run_id"]))


def told_in(search: Any) -> Iterator[Any]:
    """Yield what a search says in `TOLD`, wherever it says it."""
    if isinstance(search, list):
        for each in search:
            yield from told_in(each)
    elif isinstance(search, dict) and not is_clause(search):
        for name, value in search.items():
            if name in TOLD and value:
                yield from value if isinstance(value, list) else [value]
            else:
                yield from told_in(value)


def test_a_search_with_texts_is_listed_shown_and_verified(old: Path) -> None:
    kept = json.loads((old / "run.json").read_text())
    texts = [*told_in(kept["search"])]
    assert len(texts) > 4 and all(isinstance(each, str) for each in texts)
    (summary,) = RunStore(old.parent).list()
    assert summary.headline == kept["headline"]["text"]
    assert [*told_in(json.loads(record_json(old))["search"])] == texts
    record = load_record(old)
    assert record.search is not None
    shown = " ".join(line for block in summary_blocks(record.search, 200) for line in block)
    shown = " ".join(shown.split())
    for each in kept["search"]["not_tried"] or kept["search"]["answer"]["not_tried"]:
        assert each in shown
    assert list(sizing_blocks(record.search, drawn=True))
    assert list(search_points(record).rows)
    # the sample is kept without the raw output
    assert [each for each in verify_run(old).differs if not each.startswith("raw/")] == []


def test_a_search_with_texts_says_the_same_if_derived_again(old: Path) -> None:
    kept = json.loads(with_texts((old / "run.json").read_text()))["search"]
    again = json.loads(with_texts(build_record(old).to_json()))["search"]
    assert len([*told_in(again)]) == len([*told_in(kept)])
    assert [*differences(kept, again, "search", [])] == []


def test_a_text_with_another_number_is_no_rewording(old: Path) -> None:
    kept = json.loads((old / "run.json").read_text())
    kept["headline"]["text"] = re.sub(r"[\d.]+", "987", kept["headline"]["text"], count=1)
    (old / "run.json").write_text(json.dumps(kept))
    assert any(each.startswith("headline.text: ") for each in verify_run(old).differs)


@pytest.mark.parametrize("name", ["capacity", "curve", "scaling"])
def test_a_search_made_now_keeps_codes_that_have_texts(name: str) -> None:
    record = build_record(OLD.parent / name)
    search = json.loads(record.to_json())["search"]
    told = [*told_in(search)]
    codes = [each["code"] for each in told if is_clause(each)]
    typed = {limit["text"] for limit in search["limits"]}
    assert len(codes) > 4 and {*codes} <= SEARCH.keys()
    assert all(each in typed for each in told if not is_clause(each))
    shown = json.loads(with_texts(record.to_json()))["search"]
    assert [*told_in(shown)] == [*map(search_text, told)]


def test_searches_with_texts_and_with_codes_are_compared() -> None:
    sides = [
        load_record(OLD.parent / "scaling-as-texts").search,
        build_record(OLD.parent / "scaling").search,
    ]
    before, now = sides
    assert before is not None and now is not None
    found = compare_searches([before], [now])
    assert found.ratio.value is not None and found.word == "inconclusive"


@pytest.mark.parametrize(
    ("name", "caveats"),
    [("search-as-texts", []), ("scaling-as-texts", ["caveat"]), ("scaling", ["maximum-unbounded"])],
)
def test_a_search_whose_result_has_caveats_is_not_listed_as_plainly_valid(
    name: str, caveats: list[str], tmp_path: Path
) -> None:
    record = build_record(OLD.parent / name).model_copy(
        update={"findings": [], "verdict": "valid", "state": "complete", "run_id": "x"}
    )
    run_dir = tmp_path / "x"
    run_dir.mkdir()
    kept = json.loads(record.to_json())
    if name.endswith("-texts"):
        kept["search"] = json.loads((OLD.parent / name / "run.json").read_text())["search"]
    (run_dir / "run.json").write_text(json.dumps(kept))
    for _ in ("derived", "from the index"):
        (run,) = RunStore(tmp_path).list()
        assert (run.verdict, run.caveats) == ("valid", caveats)
        assert run.shown_verdict == ("valid-with-warnings" if caveats else "valid")
        assert run.judged == (" ".join(["!", *caveats]) if caveats else "valid")


@pytest.mark.parametrize(
    ("answer", "caveats"),
    [
        ({"step": 1}, ["not-held"]),
        ({"step": 1, "held_s": 2.0}, []),
        ({"step": 1, "held_s": 2.0, "doubts": ["x"]}, ["contradictions"]),
        ({"state": "unfinished"}, ["unfinished"]),
        ({"state": "never-met"}, []),
    ],
)
def test_an_answer_that_is_weak_has_caveats_in_lists(
    answer: dict[str, Any], caveats: list[str]
) -> None:
    assert msgspec.convert({"answer": answer}, SearchHead).caveats == caveats

"""Records keep findings without sentences; those with sentences are read and verified as before."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.samples.records import SENTENCE, strings
from tui.judge import wording
from tui.judge.wording import CHECKS, message_of
from tui.library.build import build_record
from tui.library.imported import records_of
from tui.library.load import load_record, record_json
from tui.library.runs import RunStore
from tui.library.verify import verify_run

OLD = Path(__file__).parents[1] / "data" / "runs" / "findings-as-texts"
QUOTED = ("quote", "quotes")
# what people typed, hosts and load generators printed, and errors
DATA = (
    r"facts\..*|findings\.(scope\.hosts|operands\.quote)|hosts\.(facts\..*|detail|problems\.message)"
    r"|messages\.text|notes\.text|profile\..*|steps\.(cell|name|phases\.command|added_options\..*|errors\.message)"
    r"|provenance\..*|matrix\.cells\.key"
)
ALLOWED = re.compile(rf"({DATA})\Z")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A run imported by the version of 2026-11-29 that kept findings as texts."""
    return Path(shutil.copytree(OLD, tmp_path / "runs" / "old"))


@pytest.fixture
def new(tmp_path: Path) -> Path:
    """The same outputs, imported now."""
    (made,) = records_of(sorted(OLD.glob("raw/*.txt")))
    return made.keep(tmp_path / "runs")


def texts_in(value: Any, name: str = "") -> Iterator[str]:
    """Yield the strings in operands, except those quoted from hosts and people."""
    if isinstance(value, str) and name not in QUOTED:
        yield value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from texts_in(each, key)
    elif isinstance(value, list):
        for each in value:
            yield from texts_in(each, name)


def test_a_record_with_texts_is_listed_shown_and_verified(old: Path) -> None:
    kept = json.loads((old / "run.json").read_text())["findings"]
    told = [each["message"] for each in kept]
    (summary,) = RunStore(old.parent).list()
    assert [message_of(each) for each in summary.findings] == told
    assert [message_of(each) for each in load_record(old).findings] == told
    assert json.loads(record_json(old))["findings"] == kept
    assert verify_run(old).differs == []


def test_a_record_made_now_says_the_same_without_a_sentence(old: Path, new: Path) -> None:
    kept = json.loads((new / "run.json").read_text())["findings"]
    assert all(each["code"] and each["message"] is None for each in kept)
    words = [each for finding in kept for each in texts_in(finding["operands"])]
    assert words and not [each for each in words if " " in each], "names and codes only"
    reasons = json.loads((new / "run.json").read_text())["checks_not_made"]
    assert not [each for why in reasons.values() for each in texts_in(why) if " " in each]
    document = json.loads(record_json(new))
    before = json.loads((old / "run.json").read_text())
    assert all(isinstance(why, str) for why in document["checks_not_made"].values())
    shown, before = document["findings"], before["findings"]
    assert [each["id"] for each in shown] == [each["id"] for each in before]
    (summary,) = [each for each in RunStore(new.parent).list() if each.run_id == new.name]
    assert [message_of(each) for each in summary.findings] == [each["message"] for each in shown]


@pytest.mark.parametrize(
    "name", ["plain", "sweep", "mdtest", "recovered", "capacity", "curve", "scaling"]
)
def test_a_record_contains_no_sentence_of_benchtui(name: str) -> None:
    document = json.loads(build_record(OLD.parent / name).to_json())
    found = {path for path, text in strings(document) if SENTENCE.search(text)}
    assert [path for path in found if not ALLOWED.match(path)] == []


def test_other_words_for_a_finding_do_not_change_what_verifies(
    old: Path, new: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = dict(CHECKS["no-flush"]) | {"never": "no flush while it was measured"}
    monkeypatch.setitem(CHECKS, "no-flush", texts)
    assert verify_run(old).differs == []
    RunStore(new.parent).list()  # with a cache of the list
    other = {check: {code: f"now {code}" for code in texts} for check, texts in CHECKS.items()}
    monkeypatch.setattr(wording, "CHECKS", other)
    monkeypatch.setattr(wording, "TEXTS", {})
    assert message_of(load_record(new).findings[0]).startswith("now ")
    assert verify_run(new).differs == []


def test_a_changed_operand_is_a_difference(new: Path) -> None:
    document = json.loads((new / "run.json").read_text())
    (found,) = [each for each in document["findings"] if each["id"] == "straggler"]
    found["operands"]["median"] *= 2
    (new / "run.json").write_text(json.dumps(document))
    assert any("operands.median" in text for text in verify_run(new).differs)

"""Names of checks that were numbers once: what was written with them opens, and what people type
still works.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from tui.cli.findings import find
from tui.judge.catalogue import BY_ID
from tui.library.filter import KEYS
from tui.library.record_head import FindingSummary
from tui.library.summary import RunSummary
from tui.model.check_names import FORMER
from tui.model.criteria import THRESHOLDS, known
from tui.model.plan import Plan
from tui.model.record import RunRecord

PLAIN = Path(__file__).parents[1] / "data" / "runs" / "plain"


def test_every_number_stands_for_a_check() -> None:
    assert set(FORMER.values()) <= BY_ID.keys()
    assert not FORMER.keys() & BY_ID.keys()


def test_every_threshold_is_one_of_a_check() -> None:
    assert {name.partition(".")[0] for name in THRESHOLDS} <= BY_ID.keys()


def test_a_record_with_numbers_opens_with_names() -> None:
    finding = {"id": "V14", "severity": "warning", "message": "h2 22 %"}
    changes = {
        "findings": [finding],
        "checks": ["V14", "stall"],
        "checks_not_made": {"V12": "one host"},
    }
    old = (
        json.loads((PLAIN / "run.json").read_text())
        | changes
        | {"thresholds": {"V09.remark_s": 30.0}}
    )
    record = RunRecord.model_validate(old)
    assert [each.id for each in record.findings] == ["straggler"]
    assert (record.checks, record.checks_not_made) == (
        ["straggler", "stall"],
        {"start-skew": "one host"},
    )
    assert record.thresholds == {"runtime.note_s": 30.0}


def test_a_plan_with_numbers_keeps_its_thresholds() -> None:
    old = json.loads((PLAIN / "plan.json").read_text()) | {"thresholds": {"V14.rate": 0.7}}
    assert msgspec.json.decode(msgspec.json.encode(old), type=Plan).thresholds == {
        "straggler.rate": 0.7
    }


def test_a_profile_may_say_either() -> None:
    assert known("V15.host") == known("client-cpu.host") == "client-cpu.host"


@pytest.mark.parametrize("word", ["V14", "v14", "straggler", "STRAGGLER"])
def test_a_check_is_found_by_either_name(word: str) -> None:
    assert find(word).id == "straggler"


@pytest.mark.parametrize("word", ["V14", "v14", "straggler", "stall,V14"])
def test_runs_are_found_by_either_name(word: str) -> None:
    run = RunSummary(
        "r", None, "p", [], "complete", findings=[FindingSummary("V14", "warning", "h2 22 %")]
    )
    assert KEYS["finding"](word, datetime.now(UTC))(run)

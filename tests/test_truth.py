"""docs/truth.md shows what was played last, and its tables count what they say."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from tests.long.lies.classes import OF_CHECK, kind_of
from tests.long.lies.corpus import CORPUS
from tests.long.lies.doctored.case import Case, JudgedCase, thinned
from tests.long.lies.drawn import staged
from tests.long.lies.drawn_limits import limits
from tests.long.lies.lie import Lie
from tests.long.lies.own_cpu import Second
from tests.long.lies.page import DATA, PAGE, filled
from tests.long.lies.play import Played, confirmed
from tests.long.lies.tally import (
    Conditions,
    aside,
    checks,
    classes,
    clean,
    conditions,
    confusion,
    goals,
    interval,
    missed,
)
from tui.judge.catalogue import BY_ID
from tui.model.record import Finding

LATE = Lie("late", "", "start-skew", accepted=("short",))
BOTH = Lie("both", "", "target-full", second="reducible-data", generated=True)
CLEAN = Lie("clean", "", bottleneck="rate", clean=True)
DEVICE = Lie("device", "", bottleneck="client-device", generated=True)


def test_the_page_shows_what_was_played_last() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == filled(text, json.loads(DATA.read_text(encoding="utf-8"))), (
        "python -m tests.long.lies --write"
    )


def test_classes_name_checks_that_exist_and_every_lie_has_one() -> None:
    named = [check for of_kind in OF_CHECK.values() for check in of_kind]
    assert len(set(named)) == len(named)
    assert set(named) <= {*BY_ID, "verify"}
    assert all(kind_of(lie.finding) for lie in (*CORPUS, *staged(2, 1)) if lie.finding)


def test_the_same_seed_draws_the_same_runs_and_another_one_others() -> None:
    drawn = [
        [(lie.name, lie.options) for lie in (*staged(1, seed), *limits(1, seed))]
        for seed in (1, 1, 2)
    ]
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.parametrize(
    ("right", "of", "low", "high"),
    [(0, 10, 0.0, 0.278), (10, 10, 0.722, 1.0), (50, 100, 0.404, 0.596), (0, 0, 0.0, 1.0)],
)
def test_intervals_are_those_of_wilson(right: int, of: int, low: float, high: float) -> None:
    assert interval(right, of) == pytest.approx((low, high), abs=0.001)


def test_a_lie_is_named_by_a_check_of_its_own_and_two_at_once_by_both() -> None:
    outcome = {
        LATE: [Played(["short"]), Played(["stall"])],
        BOTH: [Played(["target-full"]), Played(["target-full"], ["reducible-data"])],
    }
    assert [row["lie"] for row in missed(outcome, [])] == ["late", "both"]
    rows = {row["class"]: row for row in classes(outcome, [])}
    assert (rows["time"]["examples"], rows["place"]["staged"]) == ("1 of 2", "1 of 2")
    own = {
        row["check"]: row["by it or another"]
        for row in checks(outcome, [])
        if row["lies"] != "none"
    }
    assert own == {"`start-skew`": "1 of 2", "`target-full`": "1 of 2"}


def test_a_check_raises_no_false_alarm_in_runs_that_lack_its_data() -> None:
    outcome = {CLEAN: [Played(["stall"], checked=["stall"]), Played(checked=["stall", "depth"])]}
    rows = {row["check"]: row["false alarms"] for row in checks(outcome, [])}
    assert (rows["`stall`"], rows["`depth`"], rows["`network`"]) == ("1 of 2", "0 of 1", "–")


def test_doctored_results_that_cannot_be_seen_are_no_part_of_the_recall() -> None:
    seen = Case("time", "lie", "what", ("short",), lambda _: frozenset())
    unseen = replace(seen, aims=(), unseen="too small")
    judged = [JudgedCase(seen, frozenset({"short"})), JudgedCase(seen), JudgedCase(unseen)]
    assert {row["class"]: row["doctored"] for row in classes({}, judged)}["time"] == "1 of 2"


def test_what_is_true_beside_busy_programs_is_no_alarm_there_alone() -> None:
    busy = replace(CLEAN, company=True)
    outcome = {CLEAN: [Played(["client-cpu"]), Played(["stall"])], busy: [Played(["client-cpu"])]}
    assert [(row["runs"], row.get("weakened", "")[:7]) for row in clean(outcome)] == [
        (2, "100.0 %"),
        (1, "0.0 % ("),
    ]


def test_a_finding_that_another_count_confirms_is_no_alarm_and_is_listed() -> None:
    stolen = Finding(
        id="client-cpu", severity="warning", code="stolen", measured=6.0, threshold=1.0
    )
    busy = stolen.model_copy(update={"code": "bound"})
    quiet, stealing = Second(1.0, 0.0, 0.0, 0.0), Second(1.0, 0.08, 0.0, 0.0)
    assert confirmed([stolen], [stealing, quiet, stealing]).keys() == {"client-cpu"}
    assert confirmed([stolen], [quiet, quiet, quiet]) == {}
    assert confirmed([stolen, busy], [stealing, stealing]) == {}
    outcome = {
        CLEAN: [Played(["client-cpu"], confirmed={"client-cpu": "steal"}), Played(["stall"])]
    }
    assert next((row["runs"], row["runs with"]) for row in clean(outcome)) == (2, "`stall` 1")
    assert [(row["finding"], row["undisturbed"]) for row in aside(outcome)] == [("`client-cpu`", 1)]


def test_a_lie_that_was_not_staged_is_no_part_of_the_recall() -> None:
    outcome = {LATE: [Played(["short"]), Played(undone="h2 was not held back")]}
    rows = {row["class"]: row for row in classes(outcome, [])}
    assert (rows["time"]["examples"], missed(outcome, [])) == ("1 of 1", [])


def test_runs_that_end_before_live_shows_a_finding_are_not_counted_as_seen_live() -> None:
    outcome = {replace(CLEAN, runtime_s=12): [Played()], replace(CLEAN, runtime_s=28): [Played()]}
    seen = next(row for row in goals(outcome, []) if row["goal"].startswith("shown live"))
    assert seen["runs"] == 1


def test_a_bottleneck_is_counted_where_it_was() -> None:
    outcome = {
        DEVICE: [Played(bottleneck="client-device"), Played(bottleneck="storage")],
        CLEAN: [Played(bottleneck="rate")],
    }
    (row,) = confusion(outcome, busy=False)
    assert (row["true bottleneck"], row["client-device"], row["storage"]) == ("client-device", 1, 1)


def test_counts_are_thinned_to_their_share() -> None:
    assert sum(thinned([1] * 150, 0.9)) == 135
    assert thinned([10, 20], 2.0) == [20, 40]


def test_the_conditions_count_every_run_once_by_its_part() -> None:
    lone = Lie("limit", "", bottleneck="rate")
    busy = replace(CLEAN, name="clean, busy", company=True)
    outcome = {
        each: [Played(neighbours=each is BOTH) for _ in range(count)]
        for count, each in enumerate((LATE, BOTH, CLEAN, DEVICE, lone, busy), 1)
    }
    told = {row[""]: str(row["value"]) for row in conditions(outcome, [], Conditions(1, 0, 0, 0))}
    counts = [int(word) for word in re.findall(r"(\d+) (?!doctored|runs \()", told["runs"])]
    assert counts == [1, 2, 3 + 6, 4, 5] and told["runs"].startswith(f"{sum(counts)} runs (")
    assert "0 of the 15 runs" in told["CPU used by other processes"]
    assert "2 of the 15" in told["CPU used by other processes"]

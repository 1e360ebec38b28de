"""A comparison as JSON (benchtui.compare/1) and as JUnit XML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from tui.analysis.compare import Change, Comparison
from tui.analysis.criteria import JudgedCriterion
from tui.analysis.searches import SearchChange
from tui.analysis.searches import signed as ratio_text
from tui.analysis.setup_differences import SetupDifference
from tui.metrics.units import Few
from tui.model.record import RunRecord
from tui.text.junit import Case, Outcome, Suite, junit_xml
from tui.view.comparison import figure_text, interval_text, signed

COMPARE_SCHEMA = "benchtui.compare/1"


def as_json(found: Sequence[tuple[Comparison, Sequence[JudgedCriterion]]]) -> str:
    """Return comparisons, each with its judged thresholds, as one JSON object and a newline."""
    whole = {"schema": COMPARE_SCHEMA, "comparisons": [as_builtins(*each) for each in found]}
    return msgspec.json.format(msgspec.json.encode(whole), indent=1).decode() + "\n"


def as_builtins(found: Comparison, judged: Sequence[JudgedCriterion] = ()) -> dict[str, Any]:
    """Return one comparison as plain data."""
    whole: dict[str, Any] = msgspec.to_builtins(_as_json(found, judged), enc_hook=_number)
    return whole


def _number(value: object) -> int:
    """Return a percentile as a number even with too few samples; the change's `word` says so."""
    if isinstance(value, Few):
        return int(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def _as_json(found: Comparison, judged: Sequence[JudgedCriterion]) -> dict[str, Any]:
    return {
        "a": [_run(record) for record in found.a],
        "b": [_run(record) for record in found.b],
        "word": found.word,
        "comparable": not found.obstacles,
        "undecided": found.undecided,
        "differences": [_difference(each) for each in found.gate],
        "criteria": judged,
        "search": _search_json(found.search),
        "points": [
            {"name": point.name, "figures": [_change(change) for change in point.changes]}
            for point in found.points
        ],
    }


def _search_json(found: SearchChange | None) -> dict[str, Any] | None:
    """Return the comparison of two searches as plain data; None for other runs."""
    if found is None:
        return None
    return {
        "figure": found.figure,
        "unit": found.unit,
        "a": found.a.model_dump(),
        "b": found.b.model_dump(),
        "values_a": found.values_a,
        "values_b": found.values_b,
        "ratio": found.ratio,
        "word": found.word,
        "why": found.why,
        "reason": found.reason,
        "threshold": found.threshold,
        "percentile": found.percentile,
        "latency_ratio": found.latency,
        "latency_why": found.latency_why,
        "latency_reason": found.latency_reason,
        "over": [found.low, found.high],
        "at_equal_load": [{"rate": load, "a_ns": ours, "b_ns": theirs} for load, ours,
            theirs in found.at],
        "by_hosts": [
            {"hosts": each.hosts, "a": each.a.model_dump(), "b": each.b.model_dump(),
             "ratio": each.ratio,
             "efficiency_a": each.efficiency_a, "efficiency_b": each.efficiency_b}
            for each in found.hosts
        ],
        "fitted": [
            {"name": each.a.name, "unit": each.a.unit, "a": each.a.figure.model_dump(),
                "b": each.b.figure.model_dump(),
             "ratio": each.ratio,
             "intervals_overlap": None if each.apart is None else not each.apart}
            for each in found.fits
        ],
    }  # fmt: skip


def _run(record: RunRecord) -> dict[str, Any]:
    return {
        "run_id": record.run_id,
        "profile": record.profile.tag,
        "target": record.target,
        "state": record.state,
        "verdict": record.verdict,
        "not_as_sealed": record.not_as_sealed,
    }


def _change(change: Change) -> dict[str, Any]:
    effect = change.effect
    return {
        "name": change.name,
        "title": change.title,
        "headline": change.headline,
        "unit": change.unit,
        "a": change.a,
        "b": change.b,
        "values_a": change.values_a,
        "values_b": change.values_b,
        "ratio": effect.ratio if effect else None,
        "low": effect.low if effect else None,
        "high": effect.high if effect else None,
        "p": effect.p if effect else None,
        "p_corrected": change.p_corrected,
        "method": effect.method if effect else None,
        "threshold": change.threshold,
        "word": change.word,
        "why": change.why,
        "reason": change.reason,
    }


def _difference(each: SetupDifference) -> dict[str, Any]:
    return {
        "what": each.title,
        "a": each.a,
        "b": each.b,
        "blocks": each.blocks,
        "matters": each.matters,
        "reason": each.reason,
    }


SAID = ("better", "no difference detected")
Judgement = tuple[Comparison, Sequence[JudgedCriterion]]


def as_junit(found: Sequence[Judgement], *, allow_undecided: bool = False) -> str:
    """Return a JUnit document with one test suite per comparison.

    `allow_undecided`: inconclusive is not an error.
    """
    return junit_xml([_suite(*each, "skipped" if allow_undecided else "error") for each in found])


def _suite(found: Comparison, judged: Sequence[JudgedCriterion], undecided: Outcome) -> Suite:
    sides = ["+".join(record.run_id for record in side) for side in (found.a, found.b)]
    profile = found.b[0].profile.tag
    obstacles = "; ".join(each.text for each in found.obstacles)
    cases = [
        Case("comparable", "error" if obstacles else "passed", obstacles, profile),
        *(
            [_search_case(profile, found.search, undecided)]
            if found.search is not None and not obstacles
            else []
        ),
        *(
            _figure(profile, point.name, change, undecided)
            for point in found.points
            for change in point.changes
        ),
        *(each.case for each in judged),
    ]
    return Suite(f"{sides[1]} compared with {sides[0]}", cases, found.b[0].created_utc)


def _search_case(profile: str, found: SearchChange, undecided: Outcome) -> Case:
    """Return the result of two searches as a test case, consistent with the exit code."""
    why = f" ({found.why})" if found.why else ""
    outcome: Outcome = (
        "failed"
        if found.word == "worse"
        else "passed"
        if found.word in SAID
        else undecided
        if found.undecided
        else "skipped"
    )
    outcome = "error" if found.word == "not comparable" else outcome
    return Case(found.figure, outcome, f"{found.word}: {ratio_text(found.ratio)}{why}", profile)


def _figure(profile: str, point: str, change: Change, undecided: Outcome) -> Case:
    said = (f"{change.word}: {figure_text(change, change.a)} to {figure_text(change, change.b)}, "
            f"{signed(change.change)} ({interval_text(change)}) {change.why}").strip()  # fmt: skip
    outcome: Outcome = (
        "failed" if change.word == "worse" else "passed" if change.word in SAID else "skipped"
    )
    if outcome == "failed" and not change.counts:  # matches the exit code
        outcome, said = "skipped", f"{said}; with single runs only the headline can fail a build"
    if outcome == "skipped" and change.headline and change.undecided:
        outcome = undecided
    return Case(f"{point} {change.title}".strip(), outcome, said, profile)

"""Find the hosts that a check left out because they lack data that other hosts have.

If a check has no data once a kind of data is removed from all hosts, it had none for the hosts that
lacked that kind, whatever it does about them. So no check can silently leave out a host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from tui.judge.check import Check, RunEvidence, StepEvidence, UnknownError, Unread
from tui.judge.severity import MOOT

if TYPE_CHECKING:
    from tui.model.event import DirectionResult, HostResult
    from tui.model.figure_record import DirectionRecord
    from tui.model.step_record import StepRecord

EVERY_STEP = None


class DataOfHosts(Struct, frozen=True):
    """A kind of data that every host of a step may have.

    `why`: the reason not to check a host without it, as a code. `of`: the hosts that have it.
    `without`: the evidence after removing it.
    """

    why: str
    of: Callable[[StepEvidence], set[str]]
    without: Callable[[RunEvidence], RunEvidence]


class Withheld(Struct, frozen=True):
    """Evidence without a kind of data, and the hosts without it by step, if other hosts of that
    step have it.
    """

    why: str
    lacking: Mapping[int, Sequence[str]]
    evidence: RunEvidence


def withheld(evidence: RunEvidence) -> list[Withheld]:
    """Return the kinds of data that some hosts have and some have not; usually there are none."""
    found: list[Withheld] = []
    for kind in KINDS:
        lacking: dict[int, list[str]] = {}
        for step, record in zip(evidence.plan.steps, evidence.steps, strict=True):
            having = kind.of(StepEvidence(evidence, step, record))
            names = [host for host in step.hosts if host not in having]
            if 0 < len(names) < len(step.hosts):
                lacking[record.index] = names
        if lacking:
            found.append(Withheld(kind.why, lacking, kind.without(evidence)))
    return found


def left_out(check: Check, known: Sequence[Unread], kinds: Sequence[Withheld]) -> list[Unread]:
    """Return the hosts that a check left out, except those that it already named.

    `known`: the steps and hosts for which it said that it had no data.
    """
    found: list[Unread] = []
    for kind in kinds:
        blind = _without_data(check, kind.evidence)
        for index, names in kind.lacking.items():
            named = set[str]()
            for gap in (*known, *found):
                if not gap.steps or index in gap.steps:
                    named |= set(gap.hosts or names)
            hosts = [name for name in names if name not in named]
            if hosts and (blind is EVERY_STEP or index in blind):
                found.append(Unread(UnknownError(kind.why), [index], hosts))
    return found


def _without_data(check: Check, evidence: RunEvidence) -> set[int] | None:
    """Return the steps in which a check has no data, though it applies; None: in every step."""
    try:
        _, gaps = check.examine_all(evidence)
    except UnknownError as why:
        return set() if why.code in MOOT else EVERY_STEP
    return {
        index for gap in gaps if not gap.hosts and gap.why.code not in MOOT for index in gap.steps
    }


# -- kinds of data


def _with_steps(evidence: RunEvidence, change: Callable[[StepRecord], object]) -> RunEvidence:
    """Return evidence with changed copies of all records of steps; `change` changes a copy."""
    steps = [record.model_copy(update={"results": record.results.model_copy()})
             for record in evidence.steps]  # fmt: skip
    for record in steps:
        change(record)
    return replace(evidence, steps=steps, kept={})


def _with_results(
    evidence: RunEvidence, change: Callable[[HostResult], HostResult | None]
) -> RunEvidence:
    """Return evidence with changed results in the journal; results that become None are removed."""
    state = copy(evidence.seen.state)
    state.steps = {
        index: replace(
            step,
            results={
                host: new for host, old in step.results.items() if (new := change(old)) is not None
            },
        )
        for index, step in state.steps.items()
    }
    return replace(evidence, seen=replace(evidence.seen, state=state), kept={})


def _no_results(evidence: RunEvidence) -> RunEvidence:
    def change(record: StepRecord) -> None:
        record.results.per_host, record.results.per_job = {}, None

    return _with_steps(_with_results(evidence, lambda _: None), change)


def _with_latencies(at: StepEvidence) -> set[str]:
    """Return the hosts with latencies in all of their directions for which any host has some."""
    per_host = at.record.results.per_host
    timed = {name for dirs in per_host.values() for name, part in dirs.items() if _is_timed(part)}
    return {
        host
        for host, dirs in per_host.items()
        if all(_is_timed(part) for name, part in dirs.items() if name in timed)
    }


def _is_timed(part: DirectionRecord) -> bool:
    return any(each is not None and each.mean_ns is not None for each in (part.lat, part.clat))


def _no_latencies(evidence: RunEvidence) -> RunEvidence:
    none = {"lat": None, "clat": None, "slat": None}

    def untimed(dirs: Mapping[str, DirectionResult]) -> dict[str, DirectionResult]:
        return {name: replace(part, **none) for name, part in dirs.items()}

    def of_journal(result: HostResult) -> HostResult:
        return replace(
            result,
            dirs=untimed(result.dirs),
            jobs={name: untimed(dirs) for name, dirs in result.jobs.items()},
            entries={name: untimed(dirs) for name, dirs in result.entries.items()},
        )

    def of_record(record: StepRecord) -> None:
        results = record.results
        results.per_host = {
            host: {name: part.model_copy(update=none) for name, part in dirs.items()}
            for host, dirs in results.per_host.items()
        }

    return _with_steps(_with_results(evidence, of_journal), of_record)


def _no_telemetry(evidence: RunEvidence) -> RunEvidence:
    def change(record: StepRecord) -> None:
        record.telemetry = [each for each in record.telemetry if each.role != "client"]

    return _with_steps(evidence, change)


def _with_samples(at: StepEvidence) -> set[str]:
    series = at.record.series
    return {
        column.host
        for column in (series.columns if series is not None else ())
        if column.host is not None and any(value is not None for value in column.iops)
    }


def _final(at: StepEvidence) -> Iterator[HostResult]:
    results = at.run.seen.state.at_step(at.step.index).results
    return (each for each in results.values() if each.final)


KINDS = (
    DataOfHosts("counts", lambda at: set(at.record.results.per_host), _no_results),
    DataOfHosts("counts", lambda at: {each.host for each in _final(at)}, _no_results),
    DataOfHosts("latencies", _with_latencies, _no_latencies),
    DataOfHosts(
        "own-figures",
        lambda at: {each.host for each in _final(at) if each.contradictions is not None},
        lambda evidence: _with_results(evidence, lambda each: replace(each, contradictions=None)),
    ),
    DataOfHosts(
        "host-times",
        lambda at: set(at.record.timing.hosts) if at.record.timing is not None else set(),
        lambda evidence: _with_steps(evidence, lambda record: setattr(record, "timing", None)),
    ),
    DataOfHosts(
        "samples",
        _with_samples,
        lambda evidence: _with_steps(evidence, lambda record: setattr(record, "series", None)),
    ),
    DataOfHosts(
        "telemetry",
        lambda at: {
            each.host
            for each in at.record.telemetry
            if each.role == "client" and each.start_s is not None
        },
        _no_telemetry,
    ),
)

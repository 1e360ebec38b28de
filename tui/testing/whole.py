"""A run of recorded output through all code that reads runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from tui import workloads
from tui.analysis.compare import compare
from tui.capacity.points import PointData, judge
from tui.engine.inputs.profiles import LoadedProfile
from tui.engine.plan.plan import Choices, build_plan
from tui.engine.plan.search import SearchChoice
from tui.engine.session.context import Seconds
from tui.export.save import export, source_of
from tui.journal.fold import fold
from tui.journal.reader import read_events
from tui.journal.state import RunState
from tui.library.build import write_record
from tui.library.load import load_record
from tui.library.verify import verify_run
from tui.metrics.figures import over_hosts
from tui.model import exporter
from tui.model.event import AnyEvent, HostResult, Sample
from tui.model.plan import Plan, Step
from tui.model.plugin import PluginError
from tui.model.problem import BenchtuiError, UsageError
from tui.model.record import RunRecord
from tui.model.rundir import JOURNAL_FILE
from tui.model.search import Limit, Offer, Search
from tui.testing.streams import Mistake
from tui.workloads.base import Workload

SECONDS = 2.0  # of a step with an offered rate
RATE = 100.0  # I/Os per second, over all hosts
SHOWN = 3


def check_run(
    run_dir: Path, events: Sequence[AnyEvent], plan: Plan, exports: Path
) -> Iterator[Mistake]:
    """Yield what fails after the journal: Live, record, verify, all exporters, compare, search
    points.
    """
    told: Callable[[], Iterator[Mistake]]
    for code, told in (
        ("journal", lambda: _journal(run_dir, events)),
        ("live", lambda: _live(events)),
        ("record", lambda: _record(run_dir, events)),
        ("verify", lambda: _verify(run_dir)),
        ("export", lambda: _exports(run_dir, exports)),
        ("compare", lambda: _compare(run_dir)),
        ("capacity", lambda: _point(plan.steps[0], events, plan)),
    ):
        try:
            yield from told()
        except Exception as error:
            yield Mistake(code, f"{type(error).__name__}: {error}")


def _journal(run_dir: Path, events: Sequence[AnyEvent]) -> Iterator[Mistake]:
    again = list(read_events(run_dir / JOURNAL_FILE))
    differ = sum(a != b for a, b in zip(events, again, strict=False))
    if differ or len(again) != len(events):
        yield Mistake(
            "journal", f"{len(events)} events were written, {len(again)} are read, {differ} differ"
        )


def _live(events: Sequence[AnyEvent]) -> Iterator[Mistake]:
    """Inspect the run after every event, as Live does."""
    state = RunState()
    for event in events:
        fold(state, event)
        for view in (
            state.total,
            *state.cluster.values(),
            *(host.total for host in state.hosts.values()),
        ):
            _ = (
                view.iops,
                view.interval_percentiles,
                view.so_far_percentiles,
                view.so_far_mean_ns,
                view.series("iops"),
            )
    yield from ()


def _record(run_dir: Path, events: Sequence[AnyEvent]) -> Iterator[Mistake]:
    write_record(run_dir)
    record = load_record(run_dir)
    if record.state != "complete" or record.verdict is None:
        yield Mistake("record", f"its state is {record.state}, its verdict {record.verdict}")
    results = [event for event in events if isinstance(event, HostResult)]
    for name, part in record.steps[0].results.aggregate.items():
        ios = sum(each.dirs[name].ios for each in results if name in each.dirs)
        if any(name in each.dirs for each in results) and part.ios != ios:
            yield Mistake(
                "record", f"{name}: {part.ios} I/Os over all hosts, their results have {ios}"
            )


def _verify(run_dir: Path) -> Iterator[Mistake]:
    found = verify_run(run_dir)
    for text in [*found.differs[:SHOWN], *([found.underived] if found.underived else [])]:
        yield Mistake("verify", text)


def _exports(run_dir: Path, folder: Path) -> Iterator[Mistake]:
    """Write every format.

    An exporter may refuse a run in one line, or say that its library is missing.
    """
    source = source_of(run_dir)
    for name in exporter.installed():
        try:
            written = export(source, name, f"{folder / name}/")
            if not all(path.stat().st_size for path in written):
                yield Mistake("export", f"{name}: a file is empty")
        except BenchtuiError as error:
            if "\n" in str(error):
                yield Mistake("export", f"{name}: {error}")
        except Exception as error:
            yield Mistake("export", f"{name}: {type(error).__name__}: {error}")


def _compare(run_dir: Path) -> Iterator[Mistake]:
    record: RunRecord = load_record(run_dir)
    found = compare([record], [record])
    worse = [change.name for change in found.changes if change.word in ("better", "worse")]
    if worse or found.word in ("better", "worse"):
        yield Mistake(
            "compare", f"compared with itself, the run is {found.word}: {', '.join(worse)}"
        )


def _point(step: Step, events: Sequence[AnyEvent], plan: Plan) -> Iterator[Mistake]:
    """Judge the run as a point of a search."""
    results = [event for event in events if isinstance(event, HostResult) and event.dirs]
    if not results:
        return
    seconds = Seconds(0, len({each.host for each in results}))
    for event in events:
        if isinstance(event, Sample):
            seconds.add(event)
    limits = (
        Limit("p99 < 1s", "", "latency", 99.0, 1e9),
        Limit("mean < 1s", "", "latency", None, 1e9),
    )
    offer = Offer(RATE, SECONDS)
    dirs = over_hosts([each.dirs for each in results])
    data = PointData(0, dirs, seconds.totals(), len(results), kind=plan.latency_kind_of(step))
    judge(Search("capacity", limits=limits), offer, data)
    yield from ()


def check_searches(kind: type[Any], loaded: LoadedProfile, choices: Choices) -> Iterator[Mistake]:
    """Yield what is wrong with the steps that offer a rate.

    A load generator, or a profile, need not support any.
    """
    if not workloads.get(loaded.profile.tool).searched:
        return
    if kind.pace is Workload.pace:
        yield Mistake("capacity", "`searched` names `pace`, but the method is missing")
        return
    for wish in (SearchChoice(kind="capacity", limits=("p99 < 1s",)), SearchChoice(kind="curve")):
        with suppress(_UnpacedError):
            yield from _searched(loaded, msgspec.structs.replace(choices, search=wish))


class _UnpacedError(Exception):
    """A load that cannot be paced, or is not searchable."""


def _searched(loaded: LoadedProfile, choices: Choices) -> Iterator[Mistake]:
    tool = workloads.get(loaded.profile.tool)
    seeds = {host.name: place for place, host in enumerate(choices.hosts)}
    try:
        plan = build_plan(loaded, choices)
        jobs = [job.name for job in plan.slots[0].jobs]
        shares = {job: 1 / len(jobs) for job in jobs} if len(jobs) > 1 else {}
        offer = Offer(RATE, SECONDS, shares=shares)
        made = tool.pace(loaded.profile, plan.params, choices.hosts, seeds, offer)
    except PluginError:
        raise
    except UsageError as error:
        raise _UnpacedError(str(error)) from error
    step = made.step
    offered = sum(sum(job.rate_iops.values()) for job in step.jobs) * len(step.tasks)
    # a later start of some jobs makes it longer
    if step.runtime_s is None or step.runtime_s < SECONDS * 0.9:
        yield Mistake("capacity", f"pace for {SECONDS:g} s gives a step of {step.runtime_s} s")
    if step.jobs and not made.unpaced and abs(offered - RATE) > RATE / 10:
        yield Mistake(
            "capacity", f"pace with {RATE:g} IOPS over all hosts gives jobs of {offered:g}"
        )

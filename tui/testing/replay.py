"""Replay recorded output of a load generator through the whole contract, in a run directory.

Then read the run with all code that reads runs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

import tui
from tui import workloads
from tui.analysis.compare import compare
from tui.capacity.points import PointData, judge
from tui.engine.inputs.profiles import Catalogue, LoadedProfile
from tui.engine.plan.plan import Choices, build_plan
from tui.engine.plan.search import SearchChoice
from tui.engine.session.context import Seconds
from tui.export.save import export, source_of
from tui.journal.fold import fold
from tui.journal.raw import RawFile
from tui.journal.reader import read_events
from tui.journal.state import RunState
from tui.library.build import write_record
from tui.library.load import load_record
from tui.library.verify import verify_run
from tui.metrics.figures import over_hosts
from tui.model import exporter, profile_model, tool
from tui.model.address import HostAddress
from tui.model.bounded import read_file
from tui.model.dense import as_kept
from tui.model.event import (
    AnyEvent,
    HostProblem,
    HostResult,
    HostState,
    MetadataIteration,
    MetadataPhase,
    PhaseEnded,
    PhaseName,
    PhaseStarted,
    RunEnded,
    RunStarted,
    Sample,
    StepEnded,
    StepStarted,
    TaskEnded,
    TaskStarted,
    encode,
)
from tui.model.operands import of_tool
from tui.model.plain_data import format_utc
from tui.model.plan import Plan, Step
from tui.model.plugin import PluginError
from tui.model.problem import BenchtuiError, UsageError
from tui.model.record import RunRecord
from tui.model.rundir import JOURNAL_FILE, PLAN_FILE, new_run_id
from tui.model.search import Limit, Offer, Search
from tui.model.tool import EntryPoint, installed_in
from tui.testing.streams import (
    ContractError,
    Mistake,
    Output,
    Read,
    check_chunks,
    check_ends,
    check_figures,
    check_twice,
    read,
)
from tui.workloads.base import Reader, Workload
from tui.workloads.mpi import host_result

SECONDS = 2.0  # of a step with an offered rate
RATE = 100.0  # I/Os per second, over all hosts
SHOWN = 3


class _Given(EntryPoint):
    """An entry point for a class in memory, such as one defined in a test function."""

    def load(self) -> Any:
        """Return the class."""
        return vars(self)["given"]


@contextmanager
def standing_in(kind: type[Any]) -> Iterator[str]:
    """Register a class as a load generator under its own name; yields the name.

    If the class is installed, or benchtui has a built-in generator of that name, nothing changes.
    Another installed generator of that name is hidden meanwhile.
    """
    name, points = kind.name, installed_in(tool.GROUP)
    before = points.get(name)
    if (before is not None and before.value.startswith("tui.")) or _is(before, kind):
        yield name
        return
    point = _Given(name, f"{kind.__module__}:{kind.__qualname__}")
    vars(point)["given"] = kind
    points[name] = point
    _forget()
    try:
        yield name
    finally:
        points.pop(name)
        if before is not None:
            points[name] = before
        _forget()


def _is(point: EntryPoint | None, kind: type[Any]) -> bool:
    return (
        point is not None
        and point.value == f"{kind.__module__}:{kind.__qualname__}"
        and point.load() is kind
    )


def _forget() -> None:
    """Clear the caches of load generators and their profiles, which are kept by name."""
    for cached in (tool.load, tool.rules, workloads.get, profile_model.whole):
        cached.cache_clear()


GO_S, DELAY_S = 1.0, 0.02  # delay between release and load, and of each sample


def write_run(
    home: Path, plan: Plan, outputs: Mapping[str, Output], found: Mapping[str, Read]
) -> list[AnyEvent]:
    """Write plan, raw output and journal of a run into a new directory below `home`; return its
    events.
    """
    now = datetime.now(UTC)
    run_dir = home / new_run_id(plan.profile.tag, now)
    (run_dir / "raw").mkdir(parents=True)
    (run_dir / PLAN_FILE).write_bytes(msgspec.json.encode(plan))
    events = [*_begin(plan, run_dir.name, now), *_measured(plan.steps[0], outputs, found)]
    end = max(event.t for event in events)
    events += [*_results(plan.steps[0], found, end), *_kept(run_dir, outputs, end)]
    events.append(RunEnded(t=end, state="complete", exit_code=0))
    events = [as_kept(event) for event in events]
    (run_dir / JOURNAL_FILE).write_bytes(b"".join(map(encode, events)))
    return events


def _begin(plan: Plan, run_id: str, now: datetime) -> Iterator[AnyEvent]:
    hosts = [host.name for host in plan.hosts]
    yield RunStarted(
        t=0.0,
        run_id=run_id,
        utc=format_utc(now),
        benchtui_version=tui.__version__,
        profile=plan.profile.tag,
        hosts=hosts,
    )
    yield StepStarted(t=0.1, step=0)
    yield from _phase(
        "barrier", 0.1, [HostState(t=0.2, host=host, state="armed") for host in hosts]
    )


def _phase(
    name: PhaseName, t: float, within: list[AnyEvent], expected_s: float | None = None
) -> Iterator[AnyEvent]:
    yield PhaseStarted(t=t, phase=name, step=0, expected_s=expected_s)
    yield from within
    yield PhaseEnded(t=max([t, *(event.t for event in within)]), phase=name, step=0)


def _measured(
    step: Step, outputs: Mapping[str, Output], found: Mapping[str, Read]
) -> Iterator[AnyEvent]:
    within: list[AnyEvent] = []
    for task in step.tasks:
        if task.host not in outputs:
            continue
        items = list(_items(found[task.host]))
        end = max([GO_S, *(item.t for item in items)])
        output = outputs[task.host]
        head: list[AnyEvent] = [
            TaskStarted(t=GO_S, host=task.host, step=0, phase="measure", argv=task.argv,
                job_file=task.job_file,
                        remote_dir="/tmp/replayed"),
            HostState(t=GO_S, host=task.host, state="running"),
        ]  # fmt: skip
        ended = TaskEnded(t=end, host=task.host, step=0, phase="measure",
            exit_code=output.exit_code, reason="exit",
                          stdout_bytes=len(output.out), stderr_bytes=len(output.err))  # fmt: skip
        within += [*head, *items, ended]
    yield from _phase("measure", GO_S, sorted(within, key=lambda event: event.t), step.expected_s)


def _items(read: Read) -> Iterator[AnyEvent]:
    """Yield samples and phases in order of arrival; the host's clock sets when samples arrive."""
    begin_ms, t = None, GO_S
    for item in read.items:
        if isinstance(item, Sample):
            if begin_ms is None:
                begin_ms = item.host_time_ms - item.interval_s * 1000
            t = max(t, GO_S + (item.host_time_ms - begin_ms) / 1000 + DELAY_S)
        if isinstance(item, Sample | MetadataPhase | MetadataIteration):
            yield msgspec.structs.replace(item, t=round(t, 4))


def _results(step: Step, found: Mapping[str, Read], t: float) -> Iterator[AnyEvent]:
    within: list[AnyEvent] = []
    for host in step.hosts:
        read = found.get(host, Read())
        within += [
            msgspec.structs.replace(each, t=t)
            for each in (read.figures, read.result)
            if each is not None
        ]
        within += [HostProblem(t=t, host=host, phase="measure", code=code,
            message=of_tool(step.tool, told),
            fatal=False)
                   for code, told in read.problems]  # fmt: skip
        within.append(HostState(t=t, host=host, state="done"))
    yield from _phase("collect", t, within)
    yield StepEnded(t=t, step=0)


def _kept(run_dir: Path, outputs: Mapping[str, Output], t: float) -> Iterator[AnyEvent]:
    for host, output in outputs.items():
        for kind, data in (("out", output.out), ("err", output.err)):
            file = RawFile(run_dir, f"0.measure.{host}.{kind}", host)
            file.write(data)
            yield msgspec.structs.replace(file.close(), t=t)


Recorded = Output | bytes | Path


class Replayed(Struct, frozen=True):
    """The result of a replay: the plan, each host's output as read, the record of the run."""

    plan: Plan
    read: dict[str, Read]
    record: RunRecord


def replay(
    workload: type[Any],
    profile: Path | str,
    outputs: Mapping[str, Recorded] | Recorded,
    params: Mapping[str, str] | None = None,
) -> Replayed:
    """Replay what a load generator printed on each host of a successful run.

    `profile` is a file, or its text. `outputs` maps hosts to outputs (for one host, just its
    output): bytes, a file, or an `Output` with stderr and exit code. `params` are values as typed.
    Raises ContractError, which names every mistake found; UsageError for an invalid profile or
    parameter.
    """
    by_host = dict(outputs) if isinstance(outputs, Mapping) else {"h1": outputs}
    printed = {host: _output(each) for host, each in by_host.items()}
    with standing_in(workload) as name, tempfile.TemporaryDirectory() as home:
        try:
            loaded = _loaded(profile, Path(home))
            choices = Choices([HostAddress(host) for host in printed], overrides=dict(params or {}))
            found, mistakes = _replayed(workload, loaded, choices, printed, Path(home))
        except PluginError as error:
            raise ContractError(name, [Mistake("plug-in", str(error))]) from error
    if mistakes:
        raise ContractError(name, mistakes)
    assert found is not None
    return found


def _output(recorded: Recorded) -> Output:
    if isinstance(recorded, Output):
        return recorded
    return Output(read_file(recorded) if isinstance(recorded, Path) else recorded)


def _loaded(profile: Path | str, home: Path) -> LoadedProfile:
    catalogue = Catalogue(home / "profiles")
    if isinstance(profile, Path):
        return catalogue.load_file(profile)
    return catalogue.load_text(profile, home / "profile.yaml")


def _replayed(
    kind: type[Any],
    loaded: LoadedProfile,
    choices: Choices,
    outputs: Mapping[str, Output],
    home: Path,
) -> tuple[Replayed | None, list[Mistake]]:
    plan = build_plan(loaded, choices)
    step = replace(next(each for each in plan.steps if not each.warmup), index=0)
    plan = replace(plan, steps=[step], telemetry=False)
    found: dict[str, Read] = {}
    mistakes = [*check_searches(kind, loaded, choices), *_check_targets(step)]
    for host, output in outputs.items():
        mistakes += _check_host(plan, host, output, found)
    if mistakes:  # with wrong samples, later checks would only repeat it
        return None, mistakes
    runs = home / "runs"
    events = write_run(runs, plan, outputs, found)
    (run_dir,) = runs.iterdir()
    mistakes = list(check_run(run_dir, events, plan, home / "exports"))
    return (None if mistakes else Replayed(plan, found, load_record(run_dir))), mistakes


def _check_targets(step: Step) -> Iterator[Mistake]:
    """Yield a mistake for each target check whose command is not listed as a requirement.

    `target_problem` must not raise for a nonsensical answer.
    """
    tool = workloads.of(step)
    commands = {need.command for need in tool.requirements([step])}
    for check in tool.target_checks([step]):
        if check.needs not in commands:
            listed = ", ".join(sorted(commands))
            text = f"the check needs '{check.needs}'; expected one of the requirements: {listed}"
            yield Mistake("target-check", f"{check.target}: {text}")
        tool.target_problem(check, "no answer")


def _check_host(plan: Plan, host: str, output: Output, found: dict[str, Read]) -> Iterator[Mistake]:
    step, tool = plan.steps[0], workloads.of(plan.steps[0])

    def make() -> Reader:
        return tool.reader(host, step, "measure", plan.latency_kind_of(step))

    whole = found[host] = read(make(), [output.out], output.err, output.exit_code)
    if tool.reports == "samples":
        yield from check_figures(whole, step, host)
    elif host == step.hosts[0]:
        yield from _check_operations(whole, step, host)
    checks: tuple[Callable[[], Iterator[Mistake]], ...] = (
        lambda: check_chunks(make, output, whole, host),
        lambda: check_twice(make, output, host),
        lambda: check_ends(make, output, whole, host),
    )
    for check in checks:
        try:
            yield from check()
        except PluginError as error:  # more specific mistakes were reported
            yield Mistake("plug-in", str(error))


def _check_operations(whole: Read, step: Step, host: str) -> Iterator[Mistake]:
    """Yield a mistake if an MPI program has no operations in its result, or ended with problems.

    Like the engine, sets the host's result in `whole`, and whether it is final.
    """
    if whole.figures is None or not whole.figures.operations:
        yield Mistake(
            "no-result", f"{host}: figures() has no operations; problems: {whole.problems}"
        )
        return
    whole.figures.final = not whole.problems
    if whole.problems:
        yield Mistake("not-final", f"{host}: found problems={whole.problems}; expected none")
    whole.result = host_result(host, step.index, whole.figures.version, final=not whole.problems)


def check_run(
    run_dir: Path, events: Sequence[AnyEvent], plan: Plan, exports: Path
) -> Iterator[Mistake]:
    """Run everything that reads a run: Live, record, verify, all exporters, compare, search points.

    Yields a mistake for each failure.
    """
    check: Callable[[], Iterator[Mistake]]
    for code, check in (
        ("journal", lambda: _journal(run_dir, events)),
        ("live", lambda: _live(events)),
        ("record", lambda: _record(run_dir, events)),
        ("verify", lambda: _verify(run_dir)),
        ("export", lambda: _exports(run_dir, exports)),
        ("compare", lambda: _compare(run_dir)),
        ("capacity", lambda: _point(plan.steps[0], events, plan)),
    ):
        try:
            yield from check()
        except Exception as error:
            yield Mistake(code, f"{type(error).__name__}: {error}")


def _journal(run_dir: Path, events: Sequence[AnyEvent]) -> Iterator[Mistake]:
    again = list(read_events(run_dir / JOURNAL_FILE))
    differ = sum(a != b for a, b in zip(events, again, strict=False))
    if differ or len(again) != len(events):
        yield Mistake(
            "journal",
            f"wrote {len(events)} events, read back {len(again)} ({differ} of them changed);"
            " expected the same events",
        )


def _live(events: Sequence[AnyEvent]) -> Iterator[Mistake]:
    """Inspect the run after every event, as the Live screen does.

    Yields nothing; a failure raises.
    """
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
        yield Mistake(
            "record",
            f"found state={record.state}, verdict={record.verdict}; expected complete and"
            " a verdict",
        )
    results = [event for event in events if isinstance(event, HostResult)]
    for name, part in record.steps[0].results.aggregate.items():
        ios = sum(each.dirs[name].ios for each in results if name in each.dirs)
        if any(name in each.dirs for each in results) and part.ios != ios:
            yield Mistake(
                "record",
                f"{name}: found {part.ios} I/Os over all hosts; expected {ios}, as in results",
            )


def _verify(run_dir: Path) -> Iterator[Mistake]:
    found = verify_run(run_dir)
    for text in [*found.differs[:SHOWN], *([found.underived] if found.underived else [])]:
        yield Mistake("verify", text)


def _exports(run_dir: Path, folder: Path) -> Iterator[Mistake]:
    """Export the run in every format; yield failures.

    An exporter may refuse a run in one line, or report that its library is missing.
    """
    source = source_of(run_dir)
    for name in exporter.installed():
        try:
            written = export(source, name, f"{folder / name}/")
            if not all(path.stat().st_size for path in written):
                yield Mistake(
                    "export", f"{name}: wrote an empty file; expected content in every file"
                )
        except BenchtuiError as error:
            if "\n" in str(error):
                yield Mistake(
                    "export", f"{name}: found an error of several lines, expected one: {error}"
                )
        except Exception as error:
            yield Mistake("export", f"{name}: {type(error).__name__}: {error}")


def _compare(run_dir: Path) -> Iterator[Mistake]:
    record: RunRecord = load_record(run_dir)
    found = compare([record], [record])
    worse = [change.name for change in found.changes if change.word in ("better", "worse")]
    if worse or found.word in ("better", "worse"):
        yield Mistake(
            "compare",
            f"compared with itself, the run is {found.word} ({', '.join(worse)}); expected no"
            " difference",
        )


def _point(step: Step, events: Sequence[AnyEvent], plan: Plan) -> Iterator[Mistake]:
    """Judge the run as a point of a search.

    Yields nothing; a failure raises.
    """
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
    """Yield mistakes in the steps of a search that offer a rate.

    Neither a load generator nor a profile has to support searches.
    """
    if not workloads.get(loaded.profile.tool).searched:
        return
    if kind.pace is Workload.pace:
        yield Mistake("capacity", "found searched=True without a method `pace`; expected both")
        return
    for wish in (SearchChoice(kind="capacity", limits=("p99 < 1s",)), SearchChoice(kind="curve")):
        with suppress(_UnpacedError):
            yield from _searched(loaded, msgspec.structs.replace(choices, search=wish))


class _UnpacedError(Exception):
    """Raised for a load that cannot be paced, or that a search cannot vary."""


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
        yield Mistake(
            "capacity", f"pace gives a step of {step.runtime_s} s; expected {SECONDS:g} s"
        )
    if step.jobs and not made.unpaced and abs(offered - RATE) > RATE / 10:
        yield Mistake(
            "capacity", f"pace gives jobs of {offered:g} IOPS over all hosts; expected {RATE:g}"
        )

"""Replay recorded output of a load generator through the whole contract, in a run directory."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

import tui
from tui import workloads
from tui.engine.inputs.profiles import Catalogue, LoadedProfile
from tui.engine.plan.plan import Choices, build_plan
from tui.journal.raw import RawFile
from tui.library.load import load_record
from tui.model import profile_model, tool
from tui.model.address import HostAddress
from tui.model.bounded import read_file
from tui.model.event import (
    AnyEvent,
    HostProblem,
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
from tui.model.plain_data import format_utc
from tui.model.plan import Plan, Step
from tui.model.plugin import PluginError
from tui.model.record import RunRecord
from tui.model.rundir import JOURNAL_FILE, PLAN_FILE, new_run_id
from tui.model.tool import installed_in
from tui.testing.figures import check_figures
from tui.testing.streams import (
    ContractError,
    Mistake,
    Output,
    Read,
    check_chunks,
    check_ends,
    check_twice,
    read,
)
from tui.testing.whole import check_run, check_searches
from tui.workloads.base import Reader
from tui.workloads.mpi import host_result


class _Given(EntryPoint):
    """An entry point for a class in memory, which may be defined in a test function."""

    def load(self) -> Any:
        """Return the class."""
        return vars(self)["given"]


@contextmanager
def standing_in(kind: type[Any]) -> Iterator[str]:
    """Register a class as a load generator under its own name; yields the name.

    An installed generator of the same class stays registered with its package; one of another class
    is hidden meanwhile.
    """
    name, points = kind.name, installed_in(tool.GROUP)
    before = points.get(name)
    if (before is not None and before.value.startswith("tui.")) or _is(before, kind):
        yield name
        return
    point = _Given(name, f"{kind.__module__}:{kind.__qualname__}", tool.GROUP)
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
    """Clear lookups by name."""
    for cached in (tool.load, tool.rules, workloads.get, profile_model.whole):
        cached.cache_clear()


GO_S, DELAY_S = 1.0, 0.02  # delay between release and load, and of each sample


def write_run(
    home: Path, plan: Plan, outputs: Mapping[str, Output], found: Mapping[str, Read]
) -> list[AnyEvent]:
    """Write plan, raw output and journal of a run below an empty directory.

    Return the journal's events.
    """
    now = datetime.now(UTC)
    run_dir = home / new_run_id(plan.profile.tag, now)
    (run_dir / "raw").mkdir(parents=True)
    (run_dir / PLAN_FILE).write_bytes(msgspec.json.encode(plan))
    events = [*_begin(plan, run_dir.name, now), *_measured(plan.steps[0], outputs, found)]
    end = max(event.t for event in events)
    events += [*_results(plan.steps[0], found, end), *_kept(run_dir, outputs, end)]
    events.append(RunEnded(t=end, state="complete", exit_code=0))
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
    """Yield samples and phases as they arrive; samples arrive by the host's clock."""
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
        within += [HostProblem(t=t, host=host, phase="measure", code=code, message=message,
            fatal=False)
                   for code, message in read.problems]  # fmt: skip
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

    `profile` is a file, or its text; `outputs` is by host (for one host just its output): bytes, a
    file, or an `Output` with stderr and exit code. `params` are values as people type them. Raises
    ContractError, which names every mistake found.
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
    """Yield what is wrong with the commands that ask for targets, and with what they mean."""
    tool = workloads.of(step)
    commands = {need.command for need in tool.requirements([step])}
    for check in tool.target_checks([step]):
        if check.needs not in commands:
            said = f"{check.target}: {check.needs}; requirements are {', '.join(sorted(commands))}"
            yield Mistake("target-check", said)
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
    """Yield what is missing in the result of an MPI program."""
    if whole.figures is None or not whole.figures.operations:
        yield Mistake("no-result", f"{host}; its problems: {whole.problems}")
        return
    whole.figures.final = not whole.problems
    if whole.problems:
        yield Mistake("not-final", f"{host}: its problems are {whole.problems}")
    whole.result = host_result(host, step, whole.figures.version, final=not whole.problems)

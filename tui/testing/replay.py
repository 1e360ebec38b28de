"""Replay recorded output of a load generator through its whole contract."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from tui import workloads
from tui.engine.planning.plan import Choices, build_plan
from tui.engine.profiles.catalogue import Catalogue, LoadedProfile
from tui.model.address import HostAddress
from tui.model.bounded import read_file
from tui.model.plan import Plan, Step
from tui.model.plugin import PluginError
from tui.model.record import RunRecord
from tui.results.store.load import load_record
from tui.testing.figures import check_figures
from tui.testing.known import standing_in
from tui.testing.mistakes import ContractError, Mistake
from tui.testing.rundir import write_run
from tui.testing.streams import Output, Read, check_chunks, check_ends, check_twice, read
from tui.testing.whole import check_run, check_searches
from tui.workloads.base import Reader
from tui.workloads.mpi import host_result

Recorded = Output | bytes | Path


class Replayed(Struct, frozen=True):
    """What came of recorded output: the plan, what each host's reader made of it, the record of the run."""

    plan: Plan
    read: dict[str, Read]
    record: RunRecord


def replay(
    workload: type[Any],
    profile: Path | str,
    outputs: Mapping[str, Recorded] | Recorded,
    params: Mapping[str, str] | None = None,
) -> Replayed:
    """Replay what a load generator printed on each host in a run that came to its good end.

    `profile` is a file, or the text of one; `outputs` is by host (of one host: its output alone), as bytes, as a file,
    or as an `Output` with stderr and exit code. `params` are values as people type them. Raises ContractError, which
    names every mistake that was found.
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
    kind: type[Any], loaded: LoadedProfile, choices: Choices, outputs: Mapping[str, Output], home: Path
) -> tuple[Replayed | None, list[Mistake]]:
    plan = build_plan(loaded, choices)
    step = replace(next(each for each in plan.steps if not each.warmup), index=0)
    plan = replace(plan, steps=[step], telemetry=False)
    found: dict[str, Read] = {}
    mistakes = list(check_searches(kind, loaded, choices))
    for host, output in outputs.items():
        mistakes += _check_host(plan, host, output, found)
    if mistakes:  # what is made of samples that are wrong says nothing more
        return None, mistakes
    runs = home / "runs"
    events = write_run(runs, plan, outputs, found)
    (run_dir,) = runs.iterdir()
    mistakes = list(check_run(run_dir, events, plan, home / "exports"))
    return (None if mistakes else Replayed(plan, found, load_record(run_dir))), mistakes


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
        except PluginError as error:  # the others say more
            yield Mistake("plug-in", str(error))


def _check_operations(whole: Read, step: Step, host: str) -> Iterator[Mistake]:
    """Yield what is missing of a program over all hosts: its figures."""
    if whole.figures is None or not whole.figures.operations:
        yield Mistake("no-result", f"{host}; its problems: {whole.problems}")
        return
    whole.figures.final = not whole.problems
    if whole.problems:
        yield Mistake("not-final", f"{host}: its problems are {whole.problems}")
    whole.result = host_result(host, step, whole.figures.version, final=not whole.problems)

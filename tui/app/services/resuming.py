"""Continue from an earlier run: repeat, resume or recover it, confirm its bottleneck."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from textual.app import App

from tui.app.dialogs import text_entry
from tui.app.dialogs.confirm import Confirm, DialogChoice
from tui.app.services.launching import agree_to_overwrite, start_engine
from tui.app.services.preflight import preview_plan
from tui.judge.wording import worded
from tui.metrics.units import plural
from tui.model.plain import some
from tui.model.problem import BenchtuiError, UsageError
from tui.model.rundir import PLAN_FILE

if TYPE_CHECKING:
    from tui.app.dialogs.forms import Bounds
    from tui.app.frame.selection import Selection
    from tui.app.frame.shell import AppShell
    from tui.engine.control import Questions
    from tui.engine.extend_search import Spent
    from tui.engine.inputs.hosts import Fleet
    from tui.engine.inputs.profiles import Catalogue
    from tui.engine.launch import EngineMode
    from tui.engine.plan.reproduce import Again
    from tui.model.plan import Plan
    from tui.remote.vault import Asker


TO_TARGET = "target"  # place on Review: the field of the plan's target
# screens to which Escape on Review returns after "run again"
AGAIN_FROM = ("runs", "result")


async def run_again(
    shell: AppShell, run_dir: Path, without: Collection[str] = (), *, to_target: bool = False
) -> None:
    """Select the hosts, profile and parameters of a run, and show Review.

    `without`: hosts of the run that were not reached, and are not selected. `to_target`: focus the
    field of the target, because the target stopped that run.
    """
    asked_on = str(getattr(shell.screen, "SCOPE", ""))
    shell.forget_fleet()  # its hosts may have been added since
    try:
        chosen = await asyncio.to_thread(
            read_choice, run_dir, shell.fleet, shell.catalogue, without
        )
    except BenchtuiError as error:
        shell.notify(str(error), severity="warning")
        return
    choose(shell.selection, chosen)
    shell.again_from = asked_on if asked_on in AGAIN_FROM else ""
    shell.go("review", TO_TARGET if to_target else "")


@dataclass(frozen=True, slots=True)
class RunSelection:
    """The hosts, profile and parameters of a run, as far as they still exist."""

    hosts: list[str]
    servers: list[str]
    profile: str
    again: Again
    caveats: list[str]


def read_choice(
    run_dir: Path, fleet: Fleet, catalogue: Catalogue, without: Collection[str] = ()
) -> RunSelection:
    """Return the selection that repeats a run, without some of its hosts.

    Raises BenchtuiError if the run cannot be repeated.
    """
    from tui.engine.plan.reproduce import choices_again
    from tui.journal.rundir import load_plan
    from tui.workloads.terms import command_in

    if not (run_dir / PLAN_FILE).is_file():
        raise UsageError(
            f"{run_dir.name} cannot run again: benchtui did not run it, so there is no plan"
        )
    plan = load_plan(run_dir)
    is_job = bool(command_in(plan.profile.text))
    profile = catalogue.keep_job(plan.profile.text) if is_job else plan.profile.tag
    again = choices_again(plan, catalogue.load(profile))
    names, server_names = (
        [host.name for host in hosts if host.name not in without]
        for hosts in (plan.hosts, plan.servers)
    )
    hosts, gone = known_hosts(names, fleet)
    servers, gone_servers = known_hosts(server_names, fleet)
    if not hosts:
        raise UsageError(f"none of the run's hosts exist any more: {', '.join(gone)}")
    caveats = [f"{name} no longer exists and is excluded" for name in (*gone, *gone_servers)]
    caveats += [f"{some([*without])}: not reached in that run and excluded"] if without else []
    return RunSelection(hosts, servers, profile, again, [*caveats, *again.caveats])


def known_hosts(names: Iterable[str], fleet: Fleet) -> tuple[list[str], list[str]]:
    """Return the names of hosts that are known, and those that are not."""
    found: list[str] = []
    gone: list[str] = []
    for name in names:
        try:
            fleet.resolve([name])
            found.append(name)
        except BenchtuiError:
            gone.append(name)
    return found, gone


def choose(selection: Selection, chosen: RunSelection) -> None:
    """Replace a selection by that of a run, including all input."""
    again = chosen.again
    selection.ticked, selection.servers = list(chosen.hosts), list(chosen.servers)
    selection.profile = None
    selection.choose_profile(chosen.profile)
    selection.overrides = dict(again.overrides)
    selection.repeat = str(again.repeat or "")
    selection.sweep = " ".join(f"{name}={','.join(values)}" for name, values in again.sweep.items())
    selection.cleanup, selection.precondition, selection.note = (
        again.cleanup,
        again.precondition,
        "",
    )
    selection.search, selection.roles = again.search, dict(again.roles)
    selection.caveats = list(chosen.caveats)


RECOVERY_CHOICES = (
    DialogChoice("later", "l", "Later"),
    DialogChoice("recover", "y", "Recover now"),
)
SHOWN = 5
BEGIN_S = 15.0  # an engine takes 1 to 2 s to register
LONGEST_S = 3600.0  # the rest of a run that is still running
POLL_S = 0.2


def recovery_question(runs: Sequence[Path]) -> Confirm:
    """Return the dialog that asks whether to recover runs. The answer: ``recover`` or ``later``."""
    names = [run_dir.name for run_dir in runs[:SHOWN]]
    names += [f"and {len(runs) - SHOWN} more"] if len(runs) > SHOWN else []
    title = (
        "1 interrupted run: recover it now?"
        if len(runs) == 1
        else f"{len(runs)} interrupted runs: recover them now?"
    )
    advice = (
        "Results still on the hosts are collected and the record is finished; "
        "a load still running within its lease is taken over."
    )
    return Confirm(title, "\n".join([*names, "", advice]), RECOVERY_CHOICES)


async def runs_to_recover(shell: AppShell, at_hand: Path | None) -> list[Path]:
    """Ask whether to recover the selected run, or all interrupted runs; return those to recover.

    First writes the missing records of runs that had ended.
    """
    from tui.library.unfinished import unfinished_runs, write_missing

    for run_id in (written := await asyncio.to_thread(write_missing, shell.paths.runs)):
        shell.notify(f"{run_id} had ended; wrote its missing record")
    runs = await asyncio.to_thread(unfinished_runs, shell.paths.runs)
    runs = [run_dir for run_dir in runs if run_dir == at_hand] or runs
    if not runs and not written:
        shell.notify("no interrupted run to recover")
    if runs and await shell.push_screen_wait(recovery_question(runs)) == "recover":
        return runs
    return []


async def recover(shell: AppShell, runs: Sequence[Path]) -> None:
    """Recover runs one after another, because they may share hosts; show each one live."""
    from tui.engine.launch import spawn_asking
    from tui.journal.rundir import is_running
    from tui.library.unfinished import is_unfinished

    for run_dir in runs:
        if await asyncio.to_thread(is_unfinished, run_dir):
            try:
                questions = await asyncio.to_thread(spawn_asking, run_dir, "recover")
            except BenchtuiError as error:
                shell.notify(f"{run_dir.name}: {error}", severity="error")
                continue
            await until(partial(_is_taken_up, run_dir), BEGIN_S)
            shell.open_live(run_dir)
            shell.answer_questions(questions)
            await until(lambda place=run_dir: not is_running(place), LONGEST_S)  # type: ignore[misc]


def _is_taken_up(run_dir: Path) -> bool:
    from tui.journal.rundir import is_running
    from tui.library.unfinished import is_unfinished

    return is_running(run_dir) or not is_unfinished(run_dir)


async def until(condition: Callable[[], bool], timeout_s: float) -> None:
    """Wait until a condition holds or the timeout expires, without blocking the event loop."""
    with suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):
            while not await asyncio.to_thread(condition):
                await asyncio.sleep(POLL_S)


async def resume_run(shell: AppShell, run_dir: Path) -> None:
    """Ask which missing parts of a run to measure, measure them, and show the run live."""
    try:
        missing = await asyncio.to_thread(lacking, run_dir)
        if not missing:
            shell.notify("nothing to resume")
            return
        mode = await ask_to_resume(shell, run_dir, missing)
        if mode is not None:
            await resume(run_dir, mode, shell.open_live, shell.answer_questions)
    except BenchtuiError as error:
        shell.notify(str(error), severity="warning")


class MissingSteps(Struct, frozen=True):
    """The measurements still missing from a run.

    `missing`: number of missing steps; `with_failed`: including failed ones; `spent`: the budget
    that a search has used up.
    """

    missing: int
    with_failed: int
    spent: Spent | None

    def __bool__(self) -> bool:
        return bool(self.with_failed or self.spent)


def lacking(run_dir: Path) -> MissingSteps:
    """Return the measurements that are missing from a run.

    Raises UsageError if it is running, BenchtuiError if its plan or journal cannot be read.
    """
    from tui.engine.extend_search import wants_more
    from tui.journal.rundir import is_running

    running = is_running(run_dir)
    missing, with_failed = (
        _count(run_dir, failed=failed, running=running) for failed in (False, True)
    )
    return MissingSteps(missing, with_failed, wants_more(run_dir))


def _count(run_dir: Path, *, failed: bool, running: bool) -> int:
    from tui.engine.launch import resume_mode

    try:
        return resume_mode(run_dir, failed=failed, running=running)[1]
    except UsageError:
        if running:
            raise
        return 0


async def ask_to_resume(app: App[Any], run_dir: Path, found: MissingSteps) -> EngineMode | None:
    """Ask what to measure; return the engine mode for it, None for nothing.

    A larger budget for a search is saved with the run. Raises BenchtuiError.
    """
    from tui.app.dialogs.forms import MoreDialog

    answer = (
        await app.push_screen_wait(resume_question(run_dir.name, found))
        if found.with_failed
        else "more"
    )
    if answer == "more" and found.spent is not None:
        bounds = await app.push_screen_wait(MoreDialog(found.spent, spent_text(found.spent)))
        if bounds is None:
            return None
        await asyncio.to_thread(give, run_dir, bounds)
        return "resume"
    return (
        "resume" if answer == "resume" else "resume-failed" if answer == "resume-failed" else None
    )


def resume_question(name: str, found: MissingSteps) -> Confirm:
    """Return the dialog that asks what to measure.

    The answer is an engine mode, ``more`` (for a search) or ``cancel``.
    """
    answers = [DialogChoice("cancel", "n", "Not now")]
    if found.missing:
        answers.append(DialogChoice("resume", "y", f"Measure {plural(found.missing, 'step')}"))
    if found.with_failed > found.missing:
        answers.append(
            DialogChoice(
                "resume-failed", "f", f"Include failed: {plural(found.with_failed, 'step')}"
            )
        )
    if found.spent is not None:
        answers.append(DialogChoice("more", "m", "More points or time"))
    body = f"{name}\nFinished steps are kept; the record is rebuilt when the rest is measured."
    return Confirm("Resume this run?", body, tuple(answers))


def spent_text(spent: Spent) -> str:
    """Return what a search has spent, and why it stopped."""
    from tui.capacity.next_point import spent_s, why_over
    from tui.metrics.units import span
    from tui.text.search_texts import search_text

    cost = f"{len(spent.points)} of {spent.search.points} points in {span(spent_s(spent.points))}"
    return (
        f"{spent.name}\nmeasured  {cost}; results are kept\nended    "
        f" {search_text(why_over(spent.search, spent.points))}"
    )


def give(run_dir: Path, bounds: Bounds) -> None:
    """Raise the limits of a run's search.

    Raises UsageError if the run is still running, or if `give_more` refuses the limits.
    """
    from tui.engine.extend_search import give_more
    from tui.journal.rundir import is_running

    if is_running(run_dir):
        raise UsageError(f"run {run_dir.name} is still running")
    give_more(run_dir, bounds.points, bounds.within_s)


async def resume(
    run_dir: Path,
    mode: EngineMode,
    begun: Callable[[Path], object],
    asked: Callable[[Questions], object],
) -> None:
    """Start an engine for the missing parts of a run.

    Calls `begun` with the directory once the engine is up, and `asked` with the login questions.
    """
    from tui.engine.launch import spawn_asking
    from tui.journal.rundir import is_running

    questions = await asyncio.to_thread(spawn_asking, run_dir, mode)
    await until(lambda: is_running(run_dir), BEGIN_S)
    begun(run_dir)
    asked(questions)


async def prove_run(shell: AppShell, run_dir: Path) -> None:
    """Ask whether to run a counter-experiment on a run's bottleneck.

    If so, run it and show it live.
    """
    from tui.remote.vault import Remembering

    person = Remembering(partial(text_entry.ask, shell))
    try:
        plan = await asyncio.to_thread(planned_proof, run_dir)
        if await shell.push_screen_wait(proof_question(plan)) != "yes":
            return
        agreed = await agreed_proof(shell, plan, person)
        if agreed is not None:
            await start_engine(shell, agreed, person)
    except BenchtuiError as error:
        shell.notify(str(error), severity="warning")


PROOF_CHOICES = (DialogChoice("no", "n", "Not now"), DialogChoice("yes", "y", "Run it"))


def planned_proof(run_dir: Path) -> Plan:
    """Return the plan of a counter-experiment on the headline's step.

    Raises BenchtuiError if none is possible.
    """
    from tui.engine.plan.search import proof_plan
    from tui.library.additions import question_of

    return proof_plan(*question_of(run_dir))


def proof_question(plan: Plan) -> Confirm:
    """Return the dialog that asks whether to run a counter-experiment: change, prediction, time."""
    from tui.metrics import units
    from tui.model.search import SAID
    from tui.view.plan import caveats_of

    if plan.proves is None:
        raise ValueError("this plan is not a counter-experiment")
    experiment = plan.proves.experiment
    body = (
        f"limited by {worded(plan.proves.bottleneck)}\n\nThe same load on the same hosts and files,"
        f" unchanged and then with {SAID[experiment.change]}: {units.span(plan.expected_s)} of"
        f" load.\nPredicted: {experiment.prediction.text}."
    )
    body += "".join(f"\n\n{caveat}" for caveat in caveats_of(plan))
    return Confirm("Confirm this run's bottleneck?", body, PROOF_CHOICES)


async def agreed_proof(shell: AppShell, plan: Plan, person: Asker) -> Plan | None:
    """Return the plan, once the user has typed the name of everything it overwrites.

    None if the run is refused, or the user cancels.
    """
    from tui.engine.preflight.preview import overwrites

    if not overwrites(plan):
        return plan
    found, plan = await preview_plan(plan, shell.paths, person)
    return await agree_to_overwrite(shell, plan, found)

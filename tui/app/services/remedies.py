"""What can be done about a run that was refused or failed, by one key on Live and Result."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tui.app.services.taking import LOCKED, Trouble, again, question
from tui.model.problem import BenchtuiError

if TYPE_CHECKING:
    from tui.app.frame.base import StepScreen
    from tui.journal.state import RunState
    from tui.model.address import HostAddress
    from tui.model.plan import Plan
    from tui.model.record import RunRecord

UNKNOWN_KEY = "host-key-unknown"
WORDS = {"take": "take the hosts over", "trust": "look at the hosts' keys", "change": "change it and run again"}


@dataclass(frozen=True, slots=True)
class Remedy:
    """What the key does; `troubles` are what it is about."""

    kind: Literal["take", "trust", "change"]
    troubles: tuple[Trouble, ...] = ()

    @property
    def words(self) -> str:
        """What the key does, in a few words."""
        return WORDS[self.kind]


def remedy_of(state: str, troubles: Iterable[Trouble]) -> Remedy | None:
    """Return what can be done about a run that ended in a state; None: it did not fail."""
    found = list(troubles)
    if locked := tuple(each for each in found if each.code == LOCKED):
        return Remedy("take", locked)
    if unknown := tuple(each for each in found if each.code == UNKNOWN_KEY):
        return Remedy("trust", unknown)
    return Remedy("change") if state == "failed" else None


def of_state(state: RunState) -> Remedy | None:
    """Return the remedy of a run that Live shows; None while it goes on."""
    if not state.ended:
        return None
    return remedy_of(state.state, (Trouble(each.host, each.code, each.message) for each in state.problems))


def of_record(record: RunRecord) -> Remedy | None:
    """Return the remedy of a run that Result shows."""
    problems = (Trouble(host.name, each.code, each.message) for host in record.hosts for each in host.problems)
    return remedy_of(record.state, problems)


def mend(screen: StepScreen, remedy: Remedy | None, run_dir: Path, plan: Plan | None) -> None:
    """Do it, after a question where something is launched or trusted."""
    if remedy is None:
        screen.notify("this run needs no remedy: r on Runs makes it again")
    elif remedy.kind == "take" and plan is not None:
        screen.app.push_screen(question(remedy.troubles), partial(_answered, screen, plan))
    elif remedy.kind == "trust" and plan is not None:
        names = {each.host for each in remedy.troubles}
        hosts = [host for host in plan.hosts if host.name in names]
        screen.run_worker(_trust(screen, hosts, run_dir), group="trust", exclusive=True)
    else:
        screen.shell.run_again(run_dir)


def _answered(screen: StepScreen, plan: Plan, answer: str | None) -> None:
    if (chosen := again(plan, answer or "")) is not None:
        screen.run_worker(_launch(screen, chosen), group="launch", exclusive=True)


async def _trust(screen: StepScreen, hosts: list[HostAddress], run_dir: Path) -> None:
    """Show the keys of the hosts; once they are pinned the run is on Review again."""
    from tui.app.services.trusting import ask_to_trust

    if await ask_to_trust(screen, hosts):
        screen.shell.run_again(run_dir)


async def _launch(screen: StepScreen, plan: Plan) -> None:
    """Start an engine on a plan, and watch it."""
    from tui.engine.process.launch import launch_asking

    try:
        launched = await asyncio.to_thread(launch_asking, plan, screen.shell.paths.runs)
    except BenchtuiError as error:
        screen.notify(str(error), severity="error", markup=False)
        return
    screen.shell.open_live(launched.run_dir)
    screen.shell.answer_questions(launched.questions)

"""Making a run once more: its hosts, its profile and its parameters become what is chosen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tui.model.problem import BenchtuiError, UsageError
from tui.model.rundir import PLAN_FILE

if TYPE_CHECKING:
    from tui.app.frame.selection import Selection
    from tui.engine.hosts.fleet import Fleet
    from tui.engine.planning.again import Again
    from tui.engine.profiles.catalogue import Catalogue


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a run was made of, as far as it is still there."""

    hosts: list[str]
    servers: list[str]
    profile: str
    again: Again
    remarks: list[str]


def read_choice(run_dir: Path, fleet: Fleet, catalogue: Catalogue) -> Chosen:
    """Return what to choose for a run again. Raises BenchtuiError when that is not possible."""
    from tui.engine.planning.again import choices_again
    from tui.journal.plan_file import load_plan

    if not (run_dir / PLAN_FILE).is_file():
        raise UsageError(f"{run_dir.name} was not made here: it has no plan to follow again")
    plan = load_plan(run_dir)
    again = choices_again(plan, catalogue.load(plan.profile.tag))
    hosts, gone = known([host.name for host in plan.hosts], fleet)
    servers, gone_servers = known([server.name for server in plan.servers], fleet)
    if not hosts:
        raise UsageError(f"none of its hosts is known any more: {', '.join(gone)}")
    remarks = [f"{name} is not known any more, and is left out" for name in (*gone, *gone_servers)]
    return Chosen(hosts, servers, plan.profile.tag, again, [*remarks, *again.remarks])


def known(names: Iterable[str], fleet: Fleet) -> tuple[list[str], list[str]]:
    """Return the names that the fleet can resolve, and those that it cannot."""
    found: list[str] = []
    gone: list[str] = []
    for name in names:
        try:
            fleet.resolve([name])
            found.append(name)
        except BenchtuiError:
            gone.append(name)
    return found, gone


def choose(selection: Selection, chosen: Chosen) -> None:
    """Make it what is chosen; nothing stays of what was typed before."""
    again = chosen.again
    selection.ticked, selection.servers = list(chosen.hosts), list(chosen.servers)
    selection.profile = None
    selection.choose_profile(chosen.profile)
    selection.overrides = dict(again.overrides)
    selection.repeat = str(again.repeat or "")
    selection.sweep = " ".join(f"{name}={','.join(values)}" for name, values in again.sweep.items())
    selection.cleanup, selection.precondition, selection.note = again.cleanup, again.precondition, ""
    selection.search = again.search
    selection.remarks = list(chosen.remarks)

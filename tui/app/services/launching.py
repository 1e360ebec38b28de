"""Start a plan: confirm data loss and skipped steps, start the engine, show the run."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from textual.app import App

from tui.app.dialogs.confirm import Confirm, OverwriteDialog
from tui.model.extras import UNPACKING, are_packed
from tui.text.objects import changed_texts

if TYPE_CHECKING:
    from tui.app.frame.shell import AppShell
    from tui.engine.inputs.profiles import LoadedProfile
    from tui.engine.preflight.preview import Preview
    from tui.model.plan import Plan
    from tui.remote.vault import Asker


def sample_plan(loaded: LoadedProfile, shell: AppShell) -> Plan:
    """Return the plan of a profile on the first selected host, otherwise on this machine.

    Raises BenchtuiError.
    """
    from tui.engine.plan.plan import Choices, build_plan

    return build_plan(
        loaded, Choices(hosts=shell.fleet.resolve(shell.selection.ticked[:1] or ["local"]))
    )


async def agree_to_leave_out(app: App[Any], plan: Plan) -> bool:
    """Ask whether to skip the steps whose load generator is missing on hosts.

    Waits for the answer, so call it from a worker.
    """
    left_out = "\n".join(left.text() for left in plan.left_out)
    return await app.push_screen_wait(Confirm("Skip this and run the rest?", left_out)) == "yes"


async def agree_to_overwrite(app: App[Any], plan: Plan, found: Preview | None) -> Plan | None:
    """Return the plan, once the user has typed the name of everything it overwrites.

    Returns at once if it overwrites nothing, None if the run is refused or the user cancels.
    """
    if found is None or not (found.names or found.problems):
        return plan
    lines = [*found.lines, *changed_texts(found.objects)]
    dialog = OverwriteDialog(lines, [str(problem) for problem in found.problems], found.names)
    return replace(plan, destroy=found.names) if await app.push_screen_wait(dialog) else None


async def start_engine(shell: AppShell, plan: Plan, person: Asker | None = None) -> None:
    """Start an engine on a plan and show the run.

    `person` answers login questions. Raises BenchtuiError.
    """
    from tui.engine.launch import launch_asking

    if plan.search is not None and are_packed():
        shell.notify(UNPACKING)
    launched = await asyncio.to_thread(launch_asking, plan, shell.paths.runs)
    shell.open_live(launched.run_dir)
    shell.answer_questions(launched.questions, person)

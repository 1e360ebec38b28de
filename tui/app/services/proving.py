"""A counter-experiment about what limited a run, from its result: planned, asked about, looked at, agreed to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.app import App

from tui.app.dialogs.confirm import Answer, Confirm
from tui.app.services.looking import look

if TYPE_CHECKING:
    from tui.model.paths import Paths
    from tui.model.plan import Plan
    from tui.remote.vault import Asker

ANSWERS = (Answer("no", "n", "Not now"), Answer("yes", "y", "Run it"))


def planned(run_dir: Path) -> Plan:
    """Return the plan of a counter-experiment about the headline's step. Raises BenchtuiError when none can be made."""
    from tui.engine.planning.prove import proof_plan
    from tui.results.store.proofs import question_of

    return proof_plan(*question_of(run_dir))


def question(plan: Plan) -> Confirm:
    """Return the question whether to make it: what is changed, what is predicted, how long it takes."""
    from tui.metrics import units
    from tui.model.proof import SAID

    if plan.proves is None:
        raise ValueError("this plan proves nothing")
    experiment = plan.proves.experiment
    body = (
        f"limited by {plan.proves.limiter}\n\n"
        f"The same load on the same hosts and files, as it was and then with {SAID[experiment.change]}: "
        f"{units.duration(plan.expected_s)} of load.\nPredicted: {experiment.prediction.text}."
    )
    body += "".join(f"\n\n{remark}" for remark in plan.remarks)
    return Confirm("Prove what limits this run?", body, ANSWERS)


async def agreed(app: App[Any], plan: Plan, paths: Paths, person: Asker) -> Plan | None:
    """Return the plan once every name of what is lost was typed; None when something is refused or not agreed to."""
    from msgspec.structs import replace

    from tui.app.dialogs.overwrite import OverwriteDialog
    from tui.engine.safety.preview import overwrites

    if not overwrites(plan):
        return plan
    found, plan = await look(plan, paths, person)
    if not (found.names or found.problems):
        return plan
    refused = [str(problem) for problem in found.problems]
    answer = await app.push_screen_wait(OverwriteDialog(found.lines, refused, found.names))
    return replace(plan, destroy=found.names) if answer else None

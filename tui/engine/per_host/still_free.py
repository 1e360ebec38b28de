"""Whether devices are still free when their step begins: hours may have passed since the preflight."""

from __future__ import annotations

from functools import partial

from tui.engine.safety.destroy import judge_again
from tui.engine.session.context import RunContext
from tui.engine.session.on_hosts import DEVICES, on_hosts
from tui.engine.session.session import HostSession
from tui.model.plan import HARMLESS, Step, is_device


async def still_free(ctx: RunContext, step: Step) -> None:
    """Refuse a step when a device of it is gone, another one, or in use since the preflight: hours may have passed."""
    await on_hosts(ctx, DEVICES, ctx.taking_part(step), partial(_still_free, ctx, step))


async def _still_free(ctx: RunContext, step: Step, session: HostSession) -> None:
    task = ctx.task_of(step, session)
    written = {spec.path for spec in task.written if spec.path in ctx.plan.destroy}
    paths = [spec.path for spec in task.files if spec.path in session.devices or is_device(spec.path)]
    paths = [path for path in dict.fromkeys(paths) if path not in HARMLESS]
    devices = await session.ask(lambda agent: agent.devices(paths)) if paths else {}
    for path, facts in devices.items():
        for code, message in judge_again(session.devices.get(path), facts, written=path in written):
            session.problem("preflight", code, message)

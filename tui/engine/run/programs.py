"""Copy the user's load generators to a host before it is checked.

They are removed with the run's directory.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tui.engine.preflight.carry import carry, no_program
from tui.engine.preflight.programs import carried_names
from tui.model.plan import of_machine
from tui.remote.transport import HostError

if TYPE_CHECKING:
    from tui.engine.session.context import RunContext
    from tui.engine.session.host_session import HostSession


async def copy_programs(ctx: RunContext, session: HostSession) -> None:
    """Copy the programs that a host needs, unless they are there.

    Raises HostError.
    """
    copied = {each.name for each in ctx.plan.carried}
    wanted = (
        [name for name in carried_names(ctx.plan, session.name) if name in copied] if copied else []
    )
    if not wanted:
        return
    probe = await session.ask(lambda agent: agent.probe())
    machine = str(probe.values.get("arch"))
    mine = of_machine(ctx.plan.carried, machine)
    for name in wanted:
        if name not in mine:
            code, message = no_program(name, machine)
            raise HostError(code, session.name, message)
        await session.ask(partial(carry, program=mine[name]))

"""When the allocation of a host ends, as its transport reports it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from tui.model.hostfacts import ALLOCATION_ENDS
from tui.model.plain_data import format_utc

if TYPE_CHECKING:
    from tui.model.address import HostAddress
    from tui.model.hostfacts import Fact
    from tui.remote.connections import Connections


async def allocation_facts(address: HostAddress, connections: Connections) -> dict[str, Fact]:
    """Return when the host's allocation ends, by this machine's clock.

    Empty if it has no limit or none is known.
    """
    left_s = (await connections.way(address).limits(address)).left_s
    if left_s is None:
        return {}
    return {ALLOCATION_ENDS: format_utc(datetime.now(UTC) + timedelta(seconds=left_s))}

"""What a host's transport says of its time: when what it was allocated by ends."""

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
    """Return when the host is taken away, by the clock of this machine; empty without a limit, or when not known."""
    left_s = (await connections.way(address).limits(address)).left_s
    if left_s is None:
        return {}
    return {ALLOCATION_ENDS: format_utc(datetime.now(UTC) + timedelta(seconds=left_s))}

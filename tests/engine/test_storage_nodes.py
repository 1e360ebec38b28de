"""Storage nodes are left when a run ends.

Whatever goes wrong on one, the hosts of the run are left as well.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from tests.samples.journals import told_in
from tui.engine.run.preflight import ServerSession, leave_servers
from tui.engine.session.context import RunContext
from tui.journal.writer import Journal
from tui.model.address import HostAddress
from tui.remote.connections import Connections


class Faulty:
    """An agent whose answer is none that we know."""

    async def clean(self) -> None:
        raise ValueError("no such answer")


async def test_a_fault_on_a_storage_node_is_a_warning(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    server = ServerSession(HostAddress(name="nfs-01"), Connections(), "run", journal)
    server.reached, server._agent = True, cast(Any, Faulty())
    await leave_servers(cast(RunContext, SimpleNamespace(servers=[server])))
    journal.close()
    (text,) = told_in(tmp_path)
    assert "may still be under /tmp: internal error: ValueError: no such answer" in text

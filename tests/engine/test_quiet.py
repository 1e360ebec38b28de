"""Looking at hosts before the first load: a busy host is late with what it says, and it is the one
that matters.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

from tests.app.journal_maker import plan_of
from tests.samples.journals import told_in
from tui.engine.session.host_session import HostSession
from tui.engine.session.telemetry import Telemetry, TelemetryRun
from tui.journal.writer import Journal
from tui.remote.connections import Connections


async def test_the_pause_lasts_until_every_host_has_told_of_a_quiet_second(tmp_path: Path) -> None:
    plan, journal = plan_of(["h1"], ["read"], 60.0), Journal(tmp_path)
    run = TelemetryRun(
        HostSession(plan.hosts[0], Connections(), "run", journal), plan.steps[0], plan
    )
    telemetry = Telemetry(plan, runs=[run])
    telemetry.quiet(now=True)
    pause = asyncio.create_task(telemetry.seen_quiet())
    told = [list(run.reader.feed(line)) for line in (b"t 1000 5\n", b"c cpu.busy\n")]
    await asyncio.sleep(0)
    assert told and not pause.done()
    assert list(run.reader.feed(b"v 6 1 99\n"))
    await pause
    journal.close()


async def test_telemetry_that_ends_with_no_words_is_reported_once(tmp_path: Path) -> None:
    class Stream:
        """What a host prints when it ends: a blank that is no ASCII."""

        complete = True

        def __init__(self) -> None:
            self.pieces = [("err", "\u00a0\n".encode())]

        async def next(self) -> tuple[str, bytes] | None:
            return self.pieces.pop() if self.pieces else None

    plan, journal = plan_of(["h1"], ["read"], 60.0), Journal(tmp_path)
    run = TelemetryRun(
        HostSession(plan.hosts[0], Connections(), "run", journal), plan.steps[0], plan
    )
    run._stream = cast(Any, Stream())
    await run._follow()
    journal.close()
    (text,) = told_in(tmp_path)
    assert "it ended unexpectedly" in text

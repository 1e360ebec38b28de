"""A run whose engine is this process, over real sshd and with a real fio: faults can be put into
our code.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.lab.faults import marked
from tests.lab.sshd import SshdLab
from tests.patience import PATIENCE_S, seen
from tui.engine.inputs.profiles import Catalogue
from tui.engine.launch import create_run
from tui.engine.plan.plan import Choices, build_plan
from tui.engine.run.run import open_run
from tui.engine.session.context import RunContext
from tui.remote.connections import Connections

LOAD = Path(__file__).parents[1] / "faults" / "load.yaml"


class Course:
    """One run, and what its journal says."""

    def __init__(self, ctx: RunContext) -> None:
        self.ctx = ctx

    def events(self, kind: str = "", host: str = "") -> list[dict[str, Any]]:
        lines = (self.ctx.run_dir / "journal.jsonl").read_text().splitlines()
        found = [event for event in map(json.loads, lines) if kind in ("", event["type"])]
        return [event for event in found if host in ("", event.get("host"))]

    def codes(self, host: str) -> list[str]:
        return [event["code"] for event in self.events("host_problem", host)]

    async def seen(self, condition: Callable[[], object], timeout_s: float = PATIENCE_S) -> None:
        await seen(condition, "what the run must come to", timeout_s)


@asynccontextmanager
async def course(
    home: Path,
    lab: SshdLab,
    runtime: str,
    *,
    hosts: int = 3,
    size: str = "4M",
    profile: Path = LOAD,
    **choices: Any,
) -> AsyncIterator[Course]:
    """Have a run of the light load ready to be executed; afterwards no process of it is left."""
    overrides = {"runtime": runtime, "directory": str(home), "numjobs": "1", "size": size}
    chosen = Choices(
        hosts=lab.addresses(hosts), overrides=overrides, **{"cleanup": True, **choices}
    )
    run_dir = create_run(
        plan := build_plan(Catalogue(home).load(str(profile)), chosen), home / "runs"
    )
    async with Connections(ssh_config=lab.ssh_config) as connections:
        yield Course(open_run(run_dir, plan, connections))
    assert not marked(run_dir.name)

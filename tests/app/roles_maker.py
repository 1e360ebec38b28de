"""A run of a suite in which one host writes while two read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tests.app.journal_maker import MIX, RUN_ID, RunMaker, real_samples
from tui.journal.rundir import load_plan
from tui.model.event import (
    HostState,
    PhaseEnded,
    PhaseStarted,
    StepEnded,
    StepStarted,
)
from tui.model.plan import Headline
from tui.model.rundir import PLAN_FILE

ROLES = {"writers": ["h1"], "readers": ["h2", "h3"]}
DIRECTION = {"writers": "write", "readers": "read"}


class RolesMaker(RunMaker):
    """Each role is a step of its own, on its own hosts."""

    def __post_init__(self) -> None:
        super().__post_init__()
        plan = load_plan(self.run_dir)
        self.steps = [
            replace(plan.steps[0], index=index, name=f"a/b as {role}", cell=f"a/b as {role}",
                profile="a/b", role=role,
                    together=1, tasks=[task for task in plan.steps[0].tasks if task.host in hosts],
                    headline=Headline("iops", DIRECTION[role]))
            for index, (role, hosts) in enumerate(ROLES.items())
        ]  # fmt: skip
        (self.run_dir / PLAN_FILE).write_bytes(
            msgspec.json.encode(replace(plan, steps=self.steps, headline=None))
        )
        self.begin()
        for step in self.steps:
            self.add(StepStarted(t=self.t, step=step.index, hosts=step.hosts))
        for step in self.steps:
            self.add(PhaseStarted(t=self.t, phase="measure", step=step.index, expected_s=60.0))
        self.add(*(HostState(t=self.t, host=host, state="running") for host in self.hosts))

    def measure(self, seconds: int, silent: Sequence[str] = ()) -> RunMaker:
        """Have the hosts of each role report once a second."""
        real, start = real_samples(MIX), self.t
        for second in range(seconds):
            t = start + second + 1.0
            stamp, sample = round((self.epoch + t) * 1000), real[second % len(real)]
            for step in self.steps:
                dirs = {DIRECTION[step.role]: sample.dirs[DIRECTION[step.role]]}
                for host in (each for each in step.hosts if each not in silent):
                    self.add(replace(sample, t=t, host=host, step=step.index, host_time_ms=stamp,
                        interval_s=1.0, dirs=dirs, ramp=False, restart=False))  # fmt: skip
            self.add(*(self.telemetry(host, t) for host in self.looked_at))
        return self

    def step_of(self, host: str) -> int:
        """Return the step that a host takes part in."""
        return next(each.index for each in self.steps if host in each.hosts)

    def end_role(self, step: int) -> RunMaker:
        """End the load of one role; the others go on."""
        return self.add(
            PhaseEnded(t=self.t, phase="measure", step=step), StepEnded(t=self.t, step=step)
        )


def with_roles(home: Path, seconds: int = 0, runtime_s: float = 60.0) -> RolesMaker:
    """Return such a run, so many seconds into its load."""
    maker = RolesMaker(home / "runs" / RUN_ID, ["h1", "h2", "h3"], MIX, runtime_s=runtime_s)
    maker.measure(seconds)
    return maker

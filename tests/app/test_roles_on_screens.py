"""Roles of a suite on Live and Review: the hosts and figures of one at a time, J goes to the
next.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec.structs import replace
from textual.widgets import Input

from tests.app.driver import opened, options
from tests.app.journal_maker import MIX, RUN_ID, RunMaker, real_samples
from tests.app.stage import Stage, stage
from tui.app.screens.review import ReviewScreen
from tui.journal.rundir import load_plan
from tui.model.event import HostState, PhaseStarted, StepStarted
from tui.model.plan import Headline
from tui.model.rundir import PLAN_FILE

ROLES = {"writers": ["h1"], "readers": ["h2", "h3"]}
DIRECTION = {"writers": "write", "readers": "read"}


def running(tmp_path: Path, seconds: int = 12) -> RunMaker:
    """A run in which one host writes while two read."""
    maker = RunMaker(tmp_path / "runs" / RUN_ID, ["h1", "h2", "h3"], MIX)
    plan = load_plan(maker.run_dir)
    steps = [
        replace(plan.steps[0], index=index, name=f"a/b as {role}", cell=f"a/b as {role}",
            profile="a/b", role=role,
                together=1, tasks=[task for task in plan.steps[0].tasks if task.host in hosts],
                headline=Headline("iops", DIRECTION[role]))
        for index, (role, hosts) in enumerate(ROLES.items())
    ]  # fmt: skip
    (maker.run_dir / PLAN_FILE).write_bytes(
        msgspec.json.encode(replace(plan, steps=steps, headline=None))
    )
    maker.begin()
    start = maker.t
    maker.add(*(StepStarted(t=start, step=step.index, hosts=step.hosts) for step in steps))
    maker.add(
        *(
            PhaseStarted(t=start, phase="measure", step=step.index, expected_s=60.0)
            for step in steps
        )
    )
    maker.add(*(HostState(t=start, host=host, state="running") for host in maker.hosts))
    real = real_samples(MIX)
    for second in range(seconds):
        for step in steps:
            for host in step.hosts:
                sample = real[second % len(real)]
                dirs = {DIRECTION[step.role]: sample.dirs[DIRECTION[step.role]]}
                t = start + second + 1.0
                stamp = round((maker.epoch + t) * 1000)
                maker.add(replace(sample, t=t, host=host, step=step.index, host_time_ms=stamp,
                    interval_s=1.0,
                                  dirs=dirs, ramp=False, restart=False))  # fmt: skip
    return maker


def shown(app: Stage) -> tuple[str, list[str]]:
    """Return the direction and the hosts that Live shows."""
    hosts = app.text_of("#live-hosts")
    percentiles = app.text_of("#live-percentiles")
    direction = next(name for name in ("write", "read") if name in percentiles)
    return direction, [host for host in ("h1", "h2", "h3") if f" {host} " in hosts]


async def test_j_goes_from_role_to_role(tmp_path: Path) -> None:
    async with stage(running(tmp_path)) as (app, pilot):
        seen = [shown(app)]
        for _ in range(2):
            await pilot.press("J")
            await app.settle(pilot)
            seen.append(shown(app))
        assert seen == [("write", ["h1"]), ("read", ["h2", "h3"]), ("write", ["h1"])]


async def test_the_matrix_has_the_rate_of_every_role_at_once(tmp_path: Path) -> None:
    async with stage(running(tmp_path)) as (app, _):
        measuring = app.live.feed.state.measuring
        values = [cell.value for cell in app.live.matrix.cells(app.live.feed.state)]
        assert values == [measuring[0].whole.iops, measuring[1].whole.iops]
        assert all(values)


SUITE = """\
profile: my/both
title: Reads beside writes
tool: suite
roles: {writers: 1, readers: rest}
suite:
  - together:
      - {profile: weka/write-throughput, role: writers}
      - {profile: weka/read-latency, role: readers}
"""


async def test_the_hosts_of_a_role_are_changed_on_review(home: Path) -> None:
    (home / "profiles").mkdir(parents=True, exist_ok=True)
    (home / "profiles" / "both.yaml").write_text(SUITE)
    (home / "inventory.yaml").write_text(
        'hosts:\n  h1: {exec: "/bin/sh"}\n  h2: {exec: "/bin/sh"}\n'
    )
    async with opened(options(home, hosts=("h1", "h2"), profile="my/both", review=True)) as user:
        screen = user.app.screen
        assert isinstance(screen, ReviewScreen) and screen.plan is not None
        assert [step.hosts for step in screen.plan.steps] == [["h1"], ["h2"]]
        next(box for box in screen.query(Input) if box.name == "@role:writers").focus()
        await user.press("ctrl+u")
        await user.types("h2")
        await user.sees(
            lambda: (
                screen.plan is not None and [s.hosts for s in screen.plan.steps] == [["h2"], ["h1"]]
            )
        )

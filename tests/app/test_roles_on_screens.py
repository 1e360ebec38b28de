"""Roles of a suite on Live and Review: the hosts and figures of one at a time, J goes to the
next.
"""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

from textual.widgets import Input

from tests.app.driver import opened, options
from tests.app.roles_maker import with_roles
from tests.app.stage import Stage, stage
from tui.app.screens.review import ReviewScreen


def shown(app: Stage) -> tuple[str, list[str]]:
    """Return the direction and the hosts that Live shows."""
    hosts = app.text_of("#live-hosts")
    percentiles = app.text_of("#live-percentiles")
    direction = next(name for name in ("write", "read") if name in percentiles)
    return direction, [host for host in ("h1", "h2", "h3") if f" {host} " in hosts]


async def test_j_goes_from_role_to_role(tmp_path: Path) -> None:
    async with stage(with_roles(tmp_path, 12)) as (app, pilot):
        seen = [shown(app)]
        for _ in range(2):
            await pilot.press("J")
            await app.settle(pilot)
            seen.append(shown(app))
        assert seen == [("write", ["h1"]), ("read", ["h2", "h3"]), ("write", ["h1"])]


async def test_the_matrix_has_the_rate_of_every_role_at_once(tmp_path: Path) -> None:
    async with stage(with_roles(tmp_path, 12)) as (app, _):
        measuring = app.live.feed.state.measuring
        values = [cell.value for cell in app.live.points.matrix.cells(app.live.feed.state)]
        seconds = [measuring[role].whole.series("iops") for role in (0, 1)]
        assert values == [fmean(filter(None, each)) for each in seconds], "so far"
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

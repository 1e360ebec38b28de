"""What limited a run is put to the test from its result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.app.journal_maker import READS, RUN_ID, RunMaker
from tests.app.stage import SMALL, WIDE, stage
from tests.app.test_matrix_screens import question_of
from tests.patience import wait_until
from tui.app.screens.live import LiveScreen
from tui.engine.inputs.profiles import Catalogue
from tui.engine.plan.plan import Choices, build_plan
from tui.journal.rundir import is_running, load_plan
from tui.library.build import write_record
from tui.model.address import HostAddress

BOTTLENECK = {"kind": "concurrency", "text": "concurrency: one at a time"}
PROOF = {
    "run_id": "r2",
    "step": 0,
    "kind": "concurrency",
    "change": "twice-in-flight",
    "figure": "iops",
    "predicted": "1.3x the IOPS or more",
    "outcome": "disagreed",
    "text": "disagreed: twice as many I/Os in flight gave 1.02x the IOPS",
}


@pytest.fixture
def maker(home: Path) -> RunMaker:
    """A finished run on this machine, of which nobody knows what limits it."""
    maker = (
        RunMaker(home / "runs" / RUN_ID, ["local"], READS)
        .begin()
        .layout(2, 2)
        .go()
        .measure(20)
        .finish()
    )
    write_record(maker.run_dir)
    return maker


def change(maker: RunMaker, **fields: Any) -> None:
    """Put something into the step of the record."""
    path = maker.run_dir / "run.json"
    document = json.loads(path.read_text())
    document["steps"][0] |= fields
    path.write_text(json.dumps(document))


async def test_a_run_whose_hosts_were_not_looked_at_has_nothing_to_prove(maker: RunMaker) -> None:
    async with stage(maker, step="result") as (app, pilot):
        await pilot.press("P")
        await app.settle(pilot)
        assert any("no telemetry from its hosts" in note for note in app.told)


async def test_what_was_shown_is_below_the_bottleneck(maker: RunMaker) -> None:
    change(maker, bottleneck={**BOTTLENECK, "proof": PROOF})
    async with stage(maker, step="result") as (app, _):
        page = " ".join(app.text_of("#result-page").split())
        assert (
            "limited by concurrency: one at a time: refuted by the counter-experiment"
            " ! counter-experiment disagreed: twice as many"
        ) in page


@pytest.mark.parametrize("size", [SMALL, WIDE])
async def test_a_counter_experiment_begins_with_what_it_showed(
    maker: RunMaker, size: tuple[int, int]
) -> None:
    path = maker.run_dir / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"proves": PROOF}))
    async with stage(maker, size, step="result") as (app, _):
        page = app.text_of("#result-page")
        lines = [" ".join(line.split()) for line in page.splitlines()[:8]]
        assert any(
            line.startswith("! counter-experiment disagreed: twice as many I/Os in flight")
            for line in lines
        )


@pytest.mark.e2e
async def test_the_experiment_is_confirmed_run_and_reported(
    maker: RunMaker, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    target.mkdir()
    overrides = {
        "directory": str(target),
        "size": "1M",
        "numjobs": "1",
        "runtime": "5s",
        "direct": "no",
    }
    chosen = Choices(hosts=[HostAddress("local", transport="local")], overrides=overrides)
    plan = build_plan(Catalogue(tmp_path).load("demo/quick"), chosen)
    change(maker, bottleneck=BOTTLENECK)
    (maker.run_dir / "plan.json").write_bytes(msgspec.json.encode(plan))
    async with stage(maker, step="result") as (app, pilot):
        await pilot.press("P")
        dialog = await question_of(app, pilot)
        assert "with twice as many I/Os in flight: 10 s of load" in dialog.body
        assert "Predicted: 1.3x the IOPS or more." in dialog.body
        await pilot.press("y")
        for _ in range(2000):
            await pilot.pause(0.02)
            if isinstance(app.screen, LiveScreen):
                break
        made = app.screen.run_dir  # type: ignore[attr-defined]
        proves = load_plan(made).proves
        assert proves is not None and proves.run_id == RUN_ID
    wait_until(
        lambda: (made / "run.json").exists() and not is_running(made),
        "the end of the counter-experiment",
    )
    assert json.loads((made / "run.json").read_text())["proves"]["unchanged"] > 0
    assert list(target.iterdir()) == [], "cleaned up as the run was"
    assert '"limiter_proved"' in (maker.run_dir / "journal.jsonl").read_text()

"""Preconditioning and attested conditions on the screens: the strip on Live, fields of the review,
the result.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.app.driver import User, opened, options
from tests.app.journal_maker import MIX, RUN_ID, host_names
from tests.app.matrix_maker import MatrixMaker, maker_in
from tests.app.stage import SMALL, stage, tab
from tests.app.test_review import change
from tui.app.screens.review import ReviewScreen
from tui.library.build import write_record
from tui.model.plan import Attestation, Plan, Precondition

ROUNDS = 5
PROFILE = """\
profile: my/pre
extends: demo/quick
prepare: {precondition: {rounds: 5, window: 3, round: 20s}}
attest: [{id: cache-off, question: Is the cache off?}]
"""


@pytest.fixture
def maker(home: Path) -> MatrixMaker:
    """A run with a fill, five rounds at most, and one measurement."""
    made = maker_in(home, "my/pre")
    first = msgspec.structs.replace(made.first_step, name="my/pre", cell="my/pre")
    tasks = [msgspec.structs.replace(task, writes_bytes=64 << 30) for task in first.tasks]
    fill = msgspec.structs.replace(
        first,
        cell="my/pre fill",
        warmup=True,
        precondition=Precondition("fill", 2),
        tasks=tasks,
        runtime_s=None,
    )
    rounds = [
        msgspec.structs.replace(
            first, warmup=True, precondition=Precondition("round", 0, number, ROUNDS, 3)
        )
        for number in range(1, ROUNDS + 1)
    ]
    asked = [
        Attestation("cache-off", "Is the cache off?", "yes", "ann@jump", "2026-11-20T10:15:30Z")
    ]
    made.plan_matrix([fill, *rounds, first], attested=asked).begin()
    return made


def strip(app: object) -> str:
    return app.text_of("#live-banner")  # type: ignore[attr-defined, no-any-return]


async def test_live_says_that_files_are_filled_and_how_much(maker: MatrixMaker) -> None:
    maker.start_step(0).measure(3)
    async with stage(maker) as (app, _):
        assert strip(app) == "preconditioning  fill 2 x 64 GiB"


async def test_live_says_how_much_of_the_fill_is_written(home: Path) -> None:
    made = MatrixMaker(home / "runs" / RUN_ID, host_names(2), MIX, runtime_s=20.0, tag="my/pre")
    first = made.first_step
    tasks = [msgspec.structs.replace(task, writes_bytes=80 << 20) for task in first.tasks]
    fill = msgspec.structs.replace(
        first, cell="f", warmup=True, precondition=Precondition("fill", 2), tasks=tasks
    )
    made.plan_matrix([fill, first]).begin()
    made.start_step(0).measure(3)
    async with stage(made) as (app, _):
        share = app.live.feed.state.cluster["write"].bytes / (160 << 20)
        assert 0.0 < share < 1.0
        assert strip(app) == f"preconditioning  fill {share * 100:.0f} % of 2 x 80 MiB"


async def test_live_says_which_round_it_is_while_the_window_is_not_full(maker: MatrixMaker) -> None:
    maker.steps_done({0: 900.0, 1: 100.0}).start_step(2).measure(3)
    async with stage(maker, SMALL) as (app, _):
        assert strip(app) == "preconditioning  round 2/5: 1 of the 3 rounds of a window"


async def test_live_says_the_windows_range_and_slope_beside_what_is_allowed(
    maker: MatrixMaker,
) -> None:
    maker.steps_done({0: 900.0, 1: 140.0, 2: 120.0, 3: 100.0}).start_step(4).measure(3)
    async with stage(maker, SMALL) as (app, _):
        assert (
            strip(app)
            == "preconditioning  round 4/5: range 33.3 % (max 20 %), slope 33.3 % (max 10 %)"
        )


async def test_live_has_no_such_line_while_it_measures(maker: MatrixMaker) -> None:
    maker.steps_done({0: 900.0, 1: 100.0, 2: 100.0, 3: 100.0}).skip(4, 5).start_step(6).measure(3)
    async with stage(maker) as (app, _):
        assert "preconditioning" not in app.screen_text()


async def test_the_result_says_how_it_was_prepared_and_what_was_attested(
    maker: MatrixMaker,
) -> None:
    maker.steps_done({0: 900.0, 1: 100.0, 2: 100.0, 3: 100.0}).skip(4, 5).steps_done(
        {6: 101.0}
    ).finish()
    write_record(maker.run_dir)
    async with stage(maker, (120, 80), step="result") as (app, pilot):
        page = await tab(app, pilot, "facts")
        assert "prepared filled twice, 128 GiB in total" in page
        assert (
            "prepared steady after 3 rounds: range 0.0 % (max 20 %), slope 0.0 % (max 10 %)" in page
        )
        assert "attested yes: Is the cache off? (cache-off, ann@jump, 2026-11-20T10:15:30Z)" in page


def plan_of(user: User) -> Plan:
    screen = user.app.screen
    assert isinstance(screen, ReviewScreen) and screen.plan is not None
    return screen.plan


async def test_review_shows_what_is_filled_and_leaves_it_out_when_asked(home: Path) -> None:
    (home / "profiles").mkdir(parents=True)
    (home / "profiles" / "pre.yaml").write_text(PROFILE)
    async with opened(
        options(home, hosts=("local",), profile="my/pre", review=True), size=(120, 50)
    ) as user:
        await user.sees("writes all of its files twice")
        await user.sees("up to 5 rounds of 20 s of the profile's load")
        await change(user, "@precondition", "no")
        await user.sees("skipped at launch")
        assert [step.warmup for step in plan_of(user).steps] == [False]


async def test_a_condition_is_answered_in_the_form(home: Path) -> None:
    (home / "profiles").mkdir(parents=True)
    (home / "profiles" / "pre.yaml").write_text(PROFILE)
    async with opened(
        options(home, hosts=("local",), profile="my/pre", review=True), size=(120, 50)
    ) as user:
        assert [each.answer for each in plan_of(user).attested] == ["unknown"]
        await change(user, "@attest:cache-off", "perhaps")
        await user.sees("yes, no or unknown")
        await change(user, "@attest:cache-off", "no")
        await user.sees("attested")
        assert [each.answer for each in plan_of(user).attested] == ["no"]

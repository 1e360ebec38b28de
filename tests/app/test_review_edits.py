"""Review while it is changed: which field opens, what was changed, how old a preflight is, a key
that came early.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Input

from tests.app.driver import User, opened, options
from tui.app.frame.shell import Options
from tui.app.screens import plan_screen
from tui.app.screens.plan_pane import PlanPane, Preflight, age_text
from tui.app.screens.plan_screen import LaunchLine
from tui.app.screens.review import ReviewScreen
from tui.app.widgets.form import Field
from tui.engine.preflight.preview import HostReadiness


def review(home: Path, **changes: object) -> Options:
    return options(home, hosts=("local",), profile="demo/quick", review=True, **changes)


def screen_of(user: User) -> ReviewScreen:
    assert isinstance(user.app.screen, ReviewScreen)
    return user.app.screen


def field(user: User, name: str) -> Field:
    return next(each for each in screen_of(user).form.fields if each.spec.name == name)


async def change(user: User, name: str, text: str) -> None:
    next(box for box in user.app.screen.query(Input) if box.name == name).focus()
    await user.press("ctrl+u")
    await user.types(text)


async def test_e_opens_the_field_that_was_left_last(home: Path) -> None:
    async with opened(review(home)) as user:
        await change(user, "numjobs", "2")
        await user.press("escape", "e")
        await user.sees(
            lambda: isinstance(user.app.focused, Input) and user.app.focused.name == "numjobs"
        )


async def test_e_opens_the_field_that_is_wrong_before_the_one_that_was_left_last(
    home: Path,
) -> None:
    async with opened(review(home)) as user:
        await change(user, "runtime", "soon")
        await change(user, "numjobs", "2")
        await user.press("escape", "e")
        await user.sees(
            lambda: isinstance(user.app.focused, Input) and user.app.focused.name == "runtime"
        )


async def test_a_changed_field_shows_what_stood_there_before(home: Path) -> None:
    async with opened(review(home)) as user:
        was = field(user, "runtime").query_one(".field-was")
        assert not was.display
        await change(user, "runtime", "30s")
        await user.press("escape")
        await user.sees("was 10s")
        await user.press("d")
        await user.sees(lambda: "was 10s" not in user.text)


async def test_one_enter_that_came_early_starts_the_plan_once_it_has_been_seen(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_screen, "READ_S", 3600.0)
    async with opened(review(home)) as user:
        await user.sees("Run plan")
        started: list[object] = []
        screen_of(user).launch = started.append  # type: ignore[assignment, method-assign]
        await user.press("enter")
        await user.sees("starting in a moment")
        assert not started
        user.app.screen.query_one(LaunchLine).plan_seen()
        await user.sees(lambda: started == [screen_of(user).plan])


@pytest.mark.parametrize("keys", [("enter", "enter"), ("enter", "v"), ("enter", "e")], ids=str)
async def test_a_held_enter_and_another_key_start_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch, keys: tuple[str, ...]
) -> None:
    monkeypatch.setattr(plan_screen, "READ_S", 3600.0)
    async with opened(review(home)) as user:
        await user.sees("Run plan")
        started: list[object] = []
        screen_of(user).launch = started.append  # type: ignore[assignment, method-assign]
        await user.press(*keys)
        user.app.screen.query_one(LaunchLine).plan_seen()
        await user.sees("runs on local")
        assert not started


async def test_a_preflight_has_its_age(home: Path) -> None:
    async with opened(review(home), size=(120, 36)) as user:
        now = [100.0]
        pane = user.app.screen.query_one(PlanPane)
        pane.preflight = Preflight(lambda: now[0])
        assert pane.plan is not None
        pane.take_answers(pane.plan, [HostReadiness("local", summary="ready for it")])
        await user.sees("preflight just now")
        now[0] = 172.0
        pane.age_answers()
        await user.sees("preflight 1 min 10 s ago")


async def test_any_change_makes_a_preflight_void_also_when_it_is_taken_back(home: Path) -> None:
    async with opened(review(home), size=(120, 36)) as user:
        pane = user.app.screen.query_one(PlanPane)
        assert pane.plan is not None
        pane.take_answers(pane.plan, [HostReadiness("local", ("full",))])
        await user.sees("local is not ready; Enter checks again and starts")
        await change(user, "numjobs", "2")
        await change(user, "numjobs", "4")
        await user.press("escape")
        await user.sees("Enter runs on local")
        assert "preflight just" not in user.text and not pane.answers


@pytest.mark.parametrize(
    ("age_s", "said"),
    [(0.0, "just now"), (4.9, "just now"), (12.0, "10 s ago"), (3720.0, "1 h 2 min ago")],
)
def test_an_age_is_reported_in_steps(age_s: float, said: str) -> None:
    assert age_text(age_s) == said


async def test_a_size_that_cannot_be_planned_is_reported_at_its_field_until_it_is_right(
    home: Path,
) -> None:
    async with opened(review(home)) as user:
        await change(user, "size", "2")
        await user.sees("cannot start")
        assert field(user, "size").has_class("-wrong") and "less than" in user.text
        assert screen_of(user).form.errors == {}, "the field can be left"
        await change(user, "size", "16M")
        await user.press("escape")
        await user.sees("Enter runs on local")
        assert not field(user, "size").has_class("-wrong")


def under_cursor(user: User) -> list[str]:
    return [each.spec.name for each in screen_of(user).form.fields if each.has_class("-cursor")]


async def test_j_and_k_move_a_visible_cursor_and_e_edits_the_field_under_it(home: Path) -> None:
    async with opened(review(home)) as user:
        names = [each.spec.name for each in screen_of(user).form.fields]
        assert under_cursor(user) == names[:1]
        await user.press("k")
        assert under_cursor(user) == names[:1]
        await user.press("j", "down", "j", "k")
        await user.sees(lambda: under_cursor(user) == names[2:3])
        await user.press("e")
        await user.sees(
            lambda: isinstance(user.app.focused, Input) and user.app.focused.name == names[2]
        )
        assert under_cursor(user) == [], "the field with the focus is the one that is edited"
        await user.press("tab", "escape")
        assert under_cursor(user) == names[3:4]


async def test_the_cursor_of_the_form_scrolls_into_view(home: Path) -> None:
    async with opened(review(home), size=(80, 16)) as user:
        form = screen_of(user).form
        for _ in form.fields:
            await user.press("j")
        last = form.fields[-1]
        assert under_cursor(user) == [last.spec.name]
        await user.sees(lambda: form.region.contains_region(last.region))


async def test_a_wrong_field_has_the_cursor_until_it_is_moved(home: Path) -> None:
    async with opened(review(home)) as user:
        await change(user, "runtime", "soon")
        await change(user, "numjobs", "2")
        await user.press("escape")
        assert under_cursor(user) == ["runtime"]
        await user.press("j", "e")
        assert isinstance(user.app.focused, Input)
        assert user.app.focused.name != "runtime"


async def test_half_pages_scroll_the_plan(home: Path) -> None:
    async with opened(review(home), size=(80, 16)) as user:
        await user.press("pagedown")
        await user.sees(lambda: screen_of(user).plan_pane.scroll_offset.y > 0)


async def test_several_values_of_a_field_are_swept_as_in_a_job(home: Path) -> None:
    async with opened(review(home), size=(120, 36)) as user:
        await change(user, "numjobs", "1,4")
        await user.sees(lambda: screen_of(user).plan is not None)
        plan = screen_of(user).plan
        assert plan is not None
        assert [step.point for step in plan.steps if not step.warmup] == [
            {"numjobs": 1},
            {"numjobs": 4},
        ]
        await change(user, "numjobs", "1,1")
        await user.sees(lambda: bool(field(user, "numjobs").error))
        await change(user, "numjobs", "2,many")
        await user.sees(lambda: "many" in (field(user, "numjobs").error or ""))
        await change(user, "numjobs", "2")
        await user.sees(lambda: screen_of(user).plan is not None)
        one = screen_of(user).plan
        assert one is not None and not any(step.point for step in one.steps)


async def saved_as(user: User, tag: str) -> None:
    await user.press("ctrl+s", "ctrl+u")
    await user.types(tag)
    await user.press("enter")
    await user.is_told(f"saved {tag}")


async def test_ctrl_s_saves_what_is_shown_as_a_profile_that_measures_the_same(home: Path) -> None:
    async with opened(review(home)) as user:
        await change(user, "numjobs", "1,2")
        await change(user, "runtime", "7s")
        await change(user, "@repeat", "3")
        await change(user, "@cleanup", "no")
        await user.sees(lambda: (plan := screen_of(user).plan) is not None and len(plan.steps) == 6)
        before = screen_of(user).plan
        await saved_as(user, "my/mine")
        await user.sees(lambda: user.app.selection.profile == "my/mine")
        await user.sees(lambda: screen_of(user).plan is not None)
        after = screen_of(user).plan
        assert before is not None and after is not None and after.profile.tag == "my/mine"
        assert [(each.point, each.params) for each in after.steps] == [
            (each.point, each.params) for each in before.steps
        ]
        assert screen_of(user).form.values["@cleanup"] == "no"
        assert not user.app.selection.overrides, "as in the profile"


async def test_ctrl_s_saves_a_job_without_a_profile_from_review_too(home: Path) -> None:
    async with opened(options(home, hosts=("local",))) as user:
        await user.press("2", "n")
        await user.sees(lambda: getattr(user.app.screen, "plan", None) is not None)
        await user.press("escape", "3")
        await user.sees(lambda: user.scope == "review" and screen_of(user).plan is not None)
        await change(user, "bs", "8k,16k")
        await change(user, "runtime", "7s")
        await user.sees(lambda: (plan := screen_of(user).plan) is not None and len(plan.steps) == 2)
        before = screen_of(user).plan
        await saved_as(user, "my/job")
        await user.sees(lambda: screen_of(user).plan is not None)
        after = screen_of(user).plan
        assert before is not None and after is not None and after.profile.tag == "my/job"
        assert [(each.point, each.params) for each in after.steps] == [
            (each.point, each.params) for each in before.steps
        ]

"""A search chosen and bounded on Review: its fields come and go with its kind."""

from __future__ import annotations

from pathlib import Path

from tests.app.driver import User, opened
from tests.app.test_review import change, review
from tui.app.widgets.form import Form
from tui.engine.plan.search import SearchChoice
from tui.model.plan import Plan


def fields(user: User) -> list[str]:
    return [name for name in user.app.screen.query_one(Form).values if name.startswith("@")]


async def planned(user: User) -> Plan:
    await user.sees(lambda: getattr(user.app.screen, "plan", None) is not None)
    plan = user.app.screen.plan  # type: ignore[attr-defined]
    assert isinstance(plan, Plan)
    return plan


async def test_what_is_searched_for_over_what_and_how_long_is_chosen_in_the_form(
    home: Path,
) -> None:
    async with opened(review(home), size=(120, 36)) as user:
        await change(user, "@repeat", "3")
        await change(user, "@search", "capacity")
        await user.sees("cannot start: demo/quick: a capacity search requires a limit")
        assert "@repeat" not in fields(user) and "@sweep" not in fields(user)
        assert user.app.focused is not None and user.app.focused.name == "@search", (
            "typing goes elsewhere"
        )
        await change(user, "@limits", "p99 < 5ms")
        await change(user, "@over", "rate numjobs=1,2")
        await change(user, "@point", "20s")
        await user.sees("maximum IOPS within p99 < 5ms, over rate; numjobs 1 2")
        search = (await planned(user)).search
        assert search is not None and (search.point_s, search.points) == (20.0, 40)
        await change(user, "@over", "rate depth")
        await user.sees("'depth'")
        await change(user, "@over", "rate")
        await change(user, "@search", "curve")
        await user.sees("latency vs. load")
        assert "@over" not in fields(user)
        search = (await planned(user)).search
        assert search is not None and search.kind == "curve"
        assert [each.text for each in search.limits] == ["p99 < 5ms"], (
            "limits are of every kind of search"
        )
        await change(user, "@search", "scaling")
        await user.sees("only one was chosen")
        await change(user, "@search", "none")
        await user.sees("runs on local, 10 s")
        assert user.app.selection.search in (None, SearchChoice())
        assert "@repeat" in fields(user) and "@limits" not in fields(user)


async def test_a_kind_of_search_is_chosen_by_arrows_and_completed_by_enter(home: Path) -> None:
    async with opened(review(home), size=(80, 24)) as user:
        user.app.screen.query_one(Form).focus_on("@search")
        await user.sees("← → choose")
        await user.sees("Left, Right")
        await user.press("left")
        await user.sees("only one was chosen")  # scaling
        await user.press("left")
        await user.sees(lambda: "@limits" in fields(user) and "@over" not in fields(user))
        assert user.app.screen.query_one(Form).values["@search"] == "curve"
        await user.press("right", "right")
        await user.sees(lambda: "@repeat" in fields(user))
        await change(user, "@search", "cu")
        await user.sees("cannot start: search")
        await user.press("enter")
        await user.sees("latency vs. load")
        search = (await planned(user)).search
        assert search is not None and search.kind == "curve"
        assert user.app.focused is not None and user.app.focused.id == "review-plan", (
            "Enter ends the typing"
        )


async def test_yes_and_no_go_round_by_space_and_what_fits_two_choices_stays_wrong(
    home: Path,
) -> None:
    async with opened(review(home)) as user:
        await change(user, "direct", "n")
        await user.press("enter")
        assert user.app.selection.overrides == {"direct": "no"}
        user.app.screen.query_one(Form).focus_on("@cleanup")
        await user.press("space")
        assert user.app.selection.cleanup is False
        await user.press("space")
        assert user.app.selection.cleanup is True
        await change(user, "@search", "c")
        await user.press("enter")
        await user.sees("one of none, capacity,")
        assert user.app.focused is not None and user.app.focused.name == "@search"
        await user.press("escape")
        assert user.app.focused is not None and user.app.focused.id == "review-plan"


async def test_a_profile_that_searches_can_be_measured_and_drawn_as_a_curve(home: Path) -> None:
    async with opened(review(home, "capacity/oltp-4k-70r30w"), size=(80, 24)) as user:
        await user.sees("searches on local: up to 20 points")
        await change(user, "@within", "10m")
        await user.sees("up to 10 min")
        await change(user, "@within", "30s")
        await user.sees("cannot start: 'within' 30s is too short: one point takes 1m")
        await change(user, "@within", "")
        await change(user, "@search", "curve")
        search = (await planned(user)).search
        assert search is not None and (search.kind, len(search.limits)) == ("curve", 2)
        await change(user, "@search", "none")
        assert (await planned(user)).search is None
        await change(user, "@search", "capacity")
        search = (await planned(user)).search
        assert search is not None and (search.kind, search.points, search.within_s) == (
            "capacity",
            20,
            3600.0,
        )

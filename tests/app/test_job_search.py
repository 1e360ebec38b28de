"""A search on Profiles that describes a job: its row, its details, and the form it fills."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.app.driver import User, opened, options, write_inventory
from tests.app.test_review import change
from tui.app.dialogs.confirm import Confirm
from tui.app.screens.job import JobScreen
from tui.app.screens.profiles import ProfilesScreen
from tui.app.screens.profiles_job import NEW_JOB, offered
from tui.app.widgets.picklist import Heading
from tui.engine.inputs.profiles import Catalogue
from tui.model.plan import Plan

WEKA = "hosts: {weka-01: {}, weka-02: {}}\n"
ENTRIES = Catalogue(Path("/nowhere")).list()


async def search(user: User, text: str) -> ProfilesScreen:
    """Type a search on Profiles."""
    await user.press("2")
    await user.sees(lambda: user.scope == "profiles" and bool(user.app.screen.entries))  # type: ignore[attr-defined]
    await user.press("slash", "ctrl+u")
    await user.pilot.pause()
    screen = user.app.screen
    assert isinstance(screen, ProfilesScreen)
    screen.filter.value = text
    await user.sees(lambda: screen.picklist.rows != [] or not screen.shown)
    await user.pilot.pause()
    return screen


def job_screen(user: User) -> JobScreen:
    screen = user.app.screen
    assert isinstance(screen, JobScreen)
    return screen


def has_plan(user: User) -> bool:
    return isinstance(user.app.screen, JobScreen) and user.app.screen.plan is not None


def planned(user: User) -> Plan:
    plan = job_screen(user).plan
    assert plan is not None
    return plan


async def test_enter_on_the_row_of_a_job_opens_the_form_filled(home: Path) -> None:
    write_inventory(home, WEKA)
    async with opened(options(home, hosts=("weka-01", "weka-02"))) as user:
        await search(user, "70/30 8k qd16 /mnt/weka")
        await user.sees("New job:")
        assert user.cursor == NEW_JOB
        await user.press("enter", "enter")
        await user.sees(partial(has_plan, user))
        values = job_screen(user).form.values
        assert {name: values[name] for name in ("rw", "rwmixread", "bs", "iodepth", "directory")} == {
            "rw": "randrw", "rwmixread": "70", "bs": "8k", "iodepth": "16", "directory": "/mnt/weka",
        }  # fmt: skip
        assert not job_screen(user).form.has_focus_within, "the next Enter starts it"


async def test_without_a_target_the_form_asks_for_it(home: Path) -> None:
    write_inventory(home, WEKA)
    async with opened(options(home, hosts=("weka-01",))) as user:
        await search(user, "4k random read")
        await user.press("enter", "enter")
        await user.sees("needs a directory")
        assert job_screen(user).form.has_focus_within
        await user.types("/mnt/weka")
        await user.sees(partial(has_plan, user))
        assert job_screen(user).form.values["bs"] == "4k"


async def test_what_is_not_understood_is_named_on_both_screens(home: Path) -> None:
    async with opened(options(home, hosts=("local",))) as user:
        await search(user, "4k random read turbo")
        await user.sees("not understood: turbo")
        await user.press("enter", "enter")
        await user.sees(partial(has_plan, user))
        await user.sees("not understood: turbo")


async def test_presets_that_match_are_listed_below_the_job(home: Path) -> None:
    async with opened(options(home), size=(80, 24)) as user:
        screen = await search(user, "randread 4k")
        rows = screen.picklist.rows
        assert isinstance(rows[0], Heading) and rows[0].key == NEW_JOB
        assert "vitastor/raw-randread" in [entry.tag for entry in screen.shown]
        await user.press("down", "down")
        assert screen.current is not None


async def test_a_search_for_a_preset_selects_the_preset(home: Path) -> None:
    async with opened(options(home, hosts=("local",))) as user:
        await search(user, "ceph randread 60s")
        await user.sees(lambda: user.cursor == "ceph/randread-60s")
        await search(user, "mixed")
        await user.sees(lambda: user.cursor == "wekatester/mixed")
        assert "New job" not in user.text


async def test_unrelated_presets_are_not_listed_below_a_job(home: Path) -> None:
    async with opened(options(home)) as user:
        screen = await search(user, "70/30 8k qd16")
        assert screen.shown == []


async def test_n_opens_the_form_with_the_job_of_the_search(home: Path) -> None:
    async with opened(options(home, hosts=("local",))) as user:
        await search(user, "randwrite 1m x8")
        await user.press("enter", "n")
        await user.sees(partial(has_plan, user))
        assert planned(user).profile.tag == "fio/randwrite-1m"


async def test_a_job_of_another_load_generator_has_its_own_form(home: Path) -> None:
    write_inventory(home, WEKA)
    async with opened(options(home, hosts=("weka-01",))) as user:
        await search(user, "mdtest 1m files 16 ranks /mnt/weka")
        await user.press("enter", "enter")
        await user.sees(partial(has_plan, user))
        assert planned(user).steps[0].tool == "mdtest"
        assert job_screen(user).form.values["items"] == "1000000"
        await user.press("escape")
        await search(user, "4k random read /dev/sdb")
        await user.press("enter", "enter")
        await user.sees(lambda: has_plan(user) and planned(user).steps[0].tool == "fio")
        assert job_screen(user).form.values["filename"] == "/dev/sdb"


async def test_a_search_asks_before_it_replaces_what_was_typed(home: Path) -> None:
    async with opened(options(home, hosts=("local",))) as user:
        await search(user, "4k random read")
        await user.press("enter", "enter")
        await user.sees(partial(has_plan, user))
        assert not job_screen(user).unsaved, "nothing was typed here"
        await change(user, "numjobs", "64")
        await user.sees(lambda: bool(job_screen(user).unsaved))
        await user.press("escape", "escape")
        await search(user, "1m seq write")
        await user.press("enter", "enter")
        await user.sees(lambda: isinstance(user.app.screen, Confirm))
        await user.press("d")
        await user.sees(lambda: has_plan(user) and planned(user).profile.tag == "fio/write-1m")
        assert job_screen(user).form.values["numjobs"] == "8"


async def test_a_job_for_this_machine_with_a_device_has_no_directory(home: Path) -> None:
    async with opened(options(home, hosts=("local",))) as user:
        await search(user, "4k random read /dev/sdb")
        await user.press("enter", "enter")
        await user.sees(partial(has_plan, user))
        assert job_screen(user).form.values["directory"] == ""


def test_the_name_of_a_preset_offers_no_job() -> None:
    names = {part for entry in ENTRIES for part in (entry.tag, *entry.tag.split("/"))}
    assert {name for name in names if offered(ENTRIES, name) is not None} == set()


@pytest.mark.parametrize(
    "text", ["", "read", "4k", "weka read", "mapr 8k", "oltp", "random", "read iops", "zzz", "io"]
)
def test_a_filter_offers_no_job(text: str) -> None:
    assert offered(ENTRIES, text) is None


@pytest.mark.parametrize(
    "text", ["4k random", "qd16", "/mnt/weka", "70/30", "randrw", "4k 8k read", "4k randread turbo"]
)
def test_what_no_filter_is_for_offers_one(text: str) -> None:
    assert offered(ENTRIES, text) is not None

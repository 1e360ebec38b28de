"""Step 2, Profiles: the presets that ship, the user's own files, a real editor."""

from __future__ import annotations

import json
import shutil
import sys
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.app.driver import User, go_to_profile, opened, options
from tests.patience import PATIENCE_S
from tui.app.screens.profiles import READING, ProfilesScreen
from tui.app.screens.profiles_text import best, columns, matched, overwrites_device, score
from tui.app.terminal.theme import SYMBOLS
from tui.app.widgets.picklist import Heading
from tui.engine.inputs.profiles import Catalogue, CatalogueEntry
from tui.text.line import LABEL, WARN

pytestmark = pytest.mark.usefixtures("no_suspend")

OWN = """\
profile: lab/nightly
title: Nightly
tool: fio
params: {runtime: {default: 5s, kind: duration}}
fio: {jobs: {j: {rw: randread, size: 1m, directory: /tmp, time_based: 1, runtime: "{runtime}"}}}
headline: {metric: iops, direction: read}
"""

OLD_RUN = Path(__file__).parents[1] / "data" / "runs" / "plain"


def own_profile(home: Path, text: str = OWN, name: str = "lab/nightly") -> Path:
    path = home / "profiles" / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def editor(home: Path, code: str) -> dict[str, str]:
    """An $EDITOR that changes the file `path` as the code says."""
    script = home / "editor.py"
    script.write_text(
        f"import pathlib, sys\npath = pathlib.Path(sys.argv[1])\ntext = path.read_text()\n{code}\n"
    )
    return {"TERM": "xterm-256color", "EDITOR": f"{sys.executable} {script}"}


async def test_a_large_terminal_shows_the_job_file_below_the_description(home: Path) -> None:
    own_profile(home)
    for size, fits in (((200, 60), True), ((80, 24), False)):
        async with opened(options(home), size=size) as user:
            await go_to_profile(user, "lab/nightly")
            await user.sees("Nightly")
            assert ("[global]" in user.text or "[j]" in user.text) == fits


async def test_every_preset_is_listed_under_its_family(home: Path) -> None:
    async with opened(options(home), size=(120, 140)) as user:
        await go_to_profile(user, "demo/quick")
        for tag in Catalogue(home / "none").names():
            family, _, name = tag.partition("/")
            await user.sees(name)
            assert family in user.text


async def test_the_text_beside_the_list_follows_the_cursor(home: Path) -> None:
    async with opened(options(home), size=(120, 36)) as user:
        await go_to_profile(user, "demo/quick")
        await user.sees("Ten seconds of mixed random I/O")
        await user.press("j")
        assert "Ten seconds of mixed random I/O" not in user.text


async def test_a_family_shows_what_its_profiles_measure(home: Path) -> None:
    async with opened(options(home), size=(120, 36)) as user:
        await go_to_profile(user, "#weka")
        await user.sees("read-iops  read IOPS")


async def test_it_says_source_parameters_and_what_is_measured(home: Path) -> None:
    async with opened(options(home), size=(120, 36)) as user:
        await go_to_profile(user, "weka/read-iops")
        await user.sees("measures  read IOPS")
        await user.sees("WEKA 4.3 performance tests")
        await user.sees(lambda: "numjobs 192" in " ".join(user.text.split()))


async def test_v_shows_the_job_file_as_the_host_would_get_it(home: Path) -> None:
    async with opened(options(home), size=(120, 36)) as user:
        await go_to_profile(user, "demo/quick")
        await user.press("v")
        await user.sees("[global]")
        assert "benchtui-demo.local.$jobnum" in user.text
        assert "{host}" not in user.text


async def test_a_profile_of_ones_own_is_marked(home: Path) -> None:
    own_profile(home)
    async with opened(options(home), size=(120, 36)) as user:
        await go_to_profile(user, "lab/nightly")
        await user.sees("yours")


async def test_a_broken_profile_is_listed_with_every_problem_and_its_place_and_cannot_be_chosen(
    home: Path,
) -> None:
    path = own_profile(home, OWN.replace("randread", "randred").replace("title", "titel"))
    async with opened(options(home), size=(140, 36)) as user:
        await go_to_profile(user, str(path))
        await user.sees("cannot read this profile")
        await user.sees("2:1       unknown key 'titel'")
        await user.sees("5:22      rw: found 'randred'")
        await user.sees("did you mean 'title'")
        await user.press("enter")
        assert user.scope == "profiles"
        assert user.app.selection.profile is None


async def test_the_filter_narrows_by_tag_and_title(home: Path) -> None:
    async with opened(options(home)) as user:
        await go_to_profile(user, "demo/quick")
        await user.press("slash")
        await user.types("mapr 8k")
        rows = [row.tag for row in user.app.screen.picklist.rows if not isinstance(row, Heading)]  # type: ignore[attr-defined]
        assert rows == ["mapr/nfs-randread-8k", "mapr/nfs-randwrite-8k"]
        await user.press("escape")
        assert user.scope == "profiles"


async def test_enter_chooses_and_continues_to_review(home: Path) -> None:
    async with opened(options(home, hosts=("local",))) as user:
        await go_to_profile(user, "demo/quick")
        await user.press("enter")
        assert user.scope == "review"
        assert user.app.selection.profile == "demo/quick"
        await user.sees("local · demo/quick")


async def test_escape_goes_back_to_hosts(home: Path) -> None:
    async with opened(options(home)) as user:
        await go_to_profile(user, "demo/quick")
        await user.press("escape")
        assert user.scope == "hosts"


async def test_a_preset_is_not_for_the_editor_outside(home: Path) -> None:
    async with opened(options(home), size=(120, 36)) as user:
        await go_to_profile(user, "demo/quick")
        await user.press("E")
        await user.is_told("presets are read-only")


async def test_what_is_changed_in_the_editor_outside_is_shown(home: Path) -> None:
    own_profile(home)
    environ = editor(home, "path.write_text(text.replace('Nightly', 'Daily'))")
    async with opened(options(home, environ=environ), size=(120, 36)) as user:
        await go_to_profile(user, "lab/nightly")
        await user.press("E")
        await user.sees("Daily")


async def test_a_mistake_made_in_the_editor_is_shown_on_return(home: Path) -> None:
    own_profile(home)
    environ = editor(home, "path.write_text(text.replace('randread', 'randred'))")
    async with opened(options(home, environ=environ), size=(120, 36)) as user:
        await go_to_profile(user, "lab/nightly")
        await user.press("E")
        await user.sees("cannot read this profile")
        await user.sees("randred")


@pytest.mark.parametrize(
    ("command", "said"), [("no-such-editor", "not found"), ("false", "exited with code 1")]
)
async def test_an_editor_that_does_not_work_is_reported(
    home: Path, command: str, said: str
) -> None:
    own_profile(home)
    environ = {"TERM": "xterm-256color", "EDITOR": command}
    async with opened(options(home, environ=environ), size=(120, 36)) as user:
        await go_to_profile(user, "lab/nightly")
        await user.press("E")
        await user.is_told(said)
        assert user.scope == "profiles"


async def test_tab_goes_to_the_text_where_j_scrolls(home: Path) -> None:
    async with opened(options(home), size=(80, 24)) as user:
        await go_to_profile(user, "weka/read-iops")
        await user.press("tab", "j", "j")
        assert user.cursor == "weka/read-iops"
        assert user.app.screen.detail.scroll_offset.y == 2  # type: ignore[attr-defined]


async def test_a_file_that_is_made_outside_appears_by_itself(home: Path) -> None:
    async with opened(options(home), size=(120, 36)) as user:
        await go_to_profile(user, "demo/quick")
        await user.sees(lambda: user.app.screen._stamps is not None)  # type: ignore[attr-defined]
        own_profile(home)
        await user.sees(lambda: "lab/nightly" in [entry.tag for entry in user.app.screen.entries])  # type: ignore[attr-defined]
        assert user.cursor == "demo/quick"


async def test_the_text_of_a_file_that_is_changed_outside_follows(home: Path) -> None:
    path = own_profile(home)
    async with opened(options(home), size=(120, 36)) as user:
        await go_to_profile(user, "lab/nightly")
        await user.sees(lambda: user.app.screen._stamps is not None)  # type: ignore[attr-defined]
        path.write_text(OWN.replace("Nightly", "Weekly figures"))
        await user.sees("Weekly figures")
        path.write_text(OWN.replace("randread", "randred"))
        await user.sees("cannot read this profile")
        path.unlink()
        await user.sees(lambda: "nightly" not in user.text)


async def test_the_filter_finds_letters_in_turn_and_selects_what_fits_best(home: Path) -> None:
    async with opened(options(home)) as user:
        await go_to_profile(user, "demo/quick")
        await user.press("slash")
        for typed, best in (
            ("wkreadio", "weka/read-iops"),
            ("quick", "demo/quick"),
            ("mix", "wekatester/mixed"),
        ):
            await user.press("ctrl+u")
            await user.types(typed)
            await user.sees(partial(is_under_cursor, user, best))
        await user.press("ctrl+u")
        await user.types("zzz")
        await user.sees("Nothing matches the filter")


@pytest.mark.parametrize("search", ["4k random read", "4k", "read", "oltp", "random", "write", ""])
def test_a_search_selects_no_profile_that_overwrites_a_device_if_another_fits_as_well(
    home: Path, search: str
) -> None:
    entries = Catalogue(home).list()
    chosen = best(entries, search)
    assert chosen is not None
    harmless = [each for each in entries if not overwrites_device(each)]
    assert not overwrites_device(chosen) or score(chosen, search) > max(
        score(each, search) for each in harmless
    )


async def test_a_job_that_was_just_saved_is_seen_whatever_the_filter_says(home: Path) -> None:
    async with opened(options(home, hosts=("local",))) as user:
        await go_to_profile(user, "demo/quick")
        await user.press("slash")
        await user.types("4k random read qd7")
        await user.press("enter", "enter")
        await user.sees(lambda: user.scope == "job" and user.app.screen.plan is not None)  # type: ignore[attr-defined]
        await user.press("ctrl+s", "ctrl+u")
        await user.types("my/rr")
        await user.press("enter")
        await user.is_told("saved my/rr")
        await user.press("2")
        await user.sees(lambda: user.scope == "profiles" and user.cursor == "my/rr")


def is_under_cursor(user: User, key: str) -> bool:
    return user.cursor == key


async def test_a_profile_that_was_just_made_is_seen_whatever_the_filter_says(home: Path) -> None:
    async with opened(options(home)) as user:
        await go_to_profile(user, "demo/quick")
        await user.press("slash")
        await user.types("wkreadio")
        await user.sees(lambda: user.cursor == "weka/read-iops")
        await user.press("enter", "N")
        await user.sees("New profile based on")
        await user.press("enter")
        await user.sees(lambda: user.scope == "editor")
        await user.press("escape")
        await user.sees(lambda: user.scope == "profiles" and user.cursor == "my/read-iops")


async def test_what_was_used_last_comes_first_and_a_profile_says_what_it_takes(home: Path) -> None:
    (home / "runs").mkdir()
    shutil.copytree(
        OLD_RUN, home / "runs" / json.loads((OLD_RUN / "run.json").read_text())["run_id"]
    )
    async with opened(options(home), size=(120, 36)) as user:
        await user.press("2")
        await user.sees(lambda: user.scope == "profiles" and user.cursor == "@demo/quick")
        await go_to_profile(user, "vitastor/raw-linear-write")
        await user.sees("overwritten if the target is one")
        await user.press("g", "j")
        assert user.cursor == "@demo/quick"
        await user.sees("recently used")
        await user.sees("10 s + writing 64 MiB per host")
        assert "64 MiB per host where missing" in user.text
        assert "64 MiB per host during the measurement" in user.text
        await user.press("enter")
        await user.sees(lambda: user.scope == "review")
        assert user.app.selection.profile == "demo/quick"


async def test_what_a_profile_destroys_is_marked_at_80_columns_too(home: Path) -> None:
    async with opened(options(home), size=(80, 24)) as user:
        await user.press("2")
        await user.sees("demo/quick")
        await user.press("slash")
        await user.types("raw-linear-write")
        marked = ["raw-linear-write", "wipes", "dev"]
        await user.sees(lambda: any(line.split()[1:4] == marked for line in user.text.splitlines()))


def entry(tag: str, headline: str, *, device: bool = False, preset: bool = True) -> CatalogueEntry:
    return CatalogueEntry(tag, "A title", Path(tag), preset, "fio", headline, device=device)


def test_only_what_may_overwrite_a_device_has_the_colour_of_a_warning() -> None:
    (column,) = (each for each in columns(lambda: None, SYMBOLS["braille"]) if each.title == "I/O")
    assert column.runs(entry("weka/write", "write IOPS")) == [("write", LABEL)]
    assert column.runs(entry("raw/write", "write IOPS", device=True)) == [("wipes dev", WARN)]
    assert column.runs(entry("raw/read", "read IOPS", device=True)) == [("read dev", LABEL)]
    # what a user's own profile does besides its headline is not known here
    own = entry("my/read", "read IOPS", device=True, preset=False)
    assert column.runs(own) == [("read dev", WARN)]


@pytest.mark.parametrize(
    ("search", "letters"),
    [("io", "io"), ("weka iops", "wekaiops"), ("wkio", "wkio"), ("title", ""), ("zz", "")],
)
def test_letters_that_a_filter_matches_are_marked(search: str, letters: str) -> None:
    found = entry("weka/read-iops", "read IOPS")
    assert "".join(found.tag[at] for at in sorted(matched(found, search))) == letters


async def test_the_profile_that_was_edited_is_under_the_cursor_when_the_list_is_shown_for_the_first_time(
    home: Path,
) -> None:
    own_profile(home)
    async with opened(options(home)) as user:
        user.app.go("profiles", "lab/nightly")
        await user.pilot.pause()
        await user.sees(lambda: is_under_cursor(user, "lab/nightly"))
        await user.sees(lambda: all(worker.is_finished for worker in user.app.screen.workers))
        assert is_under_cursor(user, "lab/nightly")


async def test_until_the_profiles_are_read_the_screen_says_so(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, go_on = Catalogue.list, threading.Event()

    def held(self: Catalogue) -> Sequence[CatalogueEntry]:
        go_on.wait(PATIENCE_S)
        return real(self)

    async with opened(options(home)) as user:
        monkeypatch.setattr(Catalogue, "list", held)
        await user.pilot.press("2")
        await user.sees(READING)
        go_on.set()
        await user.sees("demo")
        assert READING not in user.text


async def test_a_slow_read_does_not_replace_what_a_newer_one_has_shown(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_profile(home)
    async with opened(options(home)) as user:
        await go_to_profile(user, "demo/quick")
        screen = user.app.screen
        assert isinstance(screen, ProfilesScreen)
        real, reading, go_on = Catalogue.list, threading.Event(), threading.Event()

        def held(self: Catalogue) -> Sequence[CatalogueEntry]:
            reading.set()
            go_on.wait(PATIENCE_S)
            return real(self)

        monkeypatch.setattr(Catalogue, "list", held)
        screen.load_profiles("demo/quick")
        await user.sees(reading.is_set)
        monkeypatch.setattr(Catalogue, "list", real)
        screen.load_profiles("lab/nightly")
        await user.sees(lambda: is_under_cursor(user, "lab/nightly"))
        handed_over, call = threading.Event(), user.app.call_from_thread

        def called(*found: Any) -> None:
            call(*found)
            handed_over.set()

        monkeypatch.setattr(user.app, "call_from_thread", called)
        go_on.set()
        await user.sees(handed_over.is_set)
        assert is_under_cursor(user, "lab/nightly")


async def test_the_cursor_is_on_the_profile_that_another_screen_selected(home: Path) -> None:
    async with opened(options(home, hosts=("local",), profile="demo/quick")) as user:
        await user.press("2")
        await user.sees(lambda: user.scope == "profiles" and user.cursor is not None)
        await user.press("g", "1")
        await user.sees(lambda: user.scope == "hosts")
        user.app.selection.choose_profile("weka/read-iops")  # as "run again" does
        await user.press("2")
        await user.sees(lambda: user.cursor == "weka/read-iops")
        await user.press("j")
        moved = user.cursor
        await user.press("1", "2")
        await user.sees(lambda: user.scope == "profiles")
        assert user.cursor == moved != "weka/read-iops"

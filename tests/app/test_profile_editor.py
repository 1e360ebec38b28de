"""The editor of profiles: what is typed is coloured and checked, what comes of it stands beside,
nothing is lost.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.app.driver import User, go_to_profile, opened, options
from tests.patience import PATIENCE_S
from tui.app.frame.step_screen import KeyBar
from tui.app.screens import editor as screens_editor
from tui.app.screens.editor import EditorScreen, with_default, written
from tui.app.screens.editor_text import (
    LoadedText,
    indentation,
    judge,
    location_of,
    spans,
    token_end,
)
from tui.engine.inputs.profile_files import SCHEMA_FILE
from tui.model.yaml_text import load

pytestmark = pytest.mark.usefixtures("no_suspend")

OWN = """\
profile: my/reads
extends: weka/read-iops
title: Mine
params:
  runtime: 30s
"""
WIDE = (120, 36)


def own_file(home: Path, text: str = OWN, name: str = "my/reads") -> Path:
    path = home / "profiles" / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


class Editing:
    """Somebody in front of the editor."""

    def __init__(self, user: User, path: Path) -> None:
        self.user = user
        self.path = path
        self.press, self.sees, self.types = user.press, user.sees, user.types

    @property
    def screen(self) -> EditorScreen:
        screen = self.user.app.screen
        assert isinstance(screen, EditorScreen), screen
        return screen

    async def write(self, old: str, new: str) -> None:
        """Put other words into the text and wait until they were looked at."""
        text = self.screen.area.text
        assert old in text
        self.screen.area.put(text.replace(old, new))
        await self.sees(lambda: self.screen.judged.text == self.screen.area.text)
        await self.user.pilot.pause()

    @property
    def problems(self) -> list[str]:
        return [
            str(problem).removeprefix(f"{self.path}:") for problem in self.screen.judged.problems
        ]


@asynccontextmanager
async def editing(
    home: Path, size: tuple[int, int] = WIDE, **changes: object
) -> AsyncIterator[Editing]:
    path = own_file(home)
    async with opened(options(home, **changes), size=size) as user:
        user.app.steps.keep("editor", EditorScreen(path))
        user.app.show_step("editor")
        await user.pilot.pause()
        found = Editing(user, path)
        await user.sees(lambda: found.screen.judged.text == OWN)
        yield found


# -- the text


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("# a: b", [("# a: b", "comment")]),
        ("bs: 4k  # x", [("bs", "key"), (":", "sign"), ("4k", "number"), ("# x", "comment")]),
        ("  a b: {direct: true}", [
            ("a b", "key"), (":", "sign"), ("{", "sign"), ("direct", "key"), (":", "sign"),
                ("true", "flag"),
            ("}", "sign"),
        ]),
        ('d: "{directory}/{{x"', [
            ("d", "key"), (":", "sign"), ('"{directory}/{{x"', "string"),
                ("{directory}", "placeholder"),
        ]),
        ("f: $jobnum/a.1#2", [("f", "key"), (":", "sign")]),
        ("- weka/read-iops", [("-", "sign")]),
    ],
)  # fmt: skip
def test_a_line_is_coloured_by_what_is_in_it(line: str, found: list[tuple[str, str]]) -> None:
    assert [(line[start:end], kind) for start, end, kind in spans(line)] == found


def test_a_problem_is_underlined_to_the_end_of_its_word() -> None:
    assert token_end("  rw: randraed, x", 6) == 14
    assert token_end("", 0) == 1


@pytest.mark.parametrize(
    ("line", "blanks"),
    [("a:", "  "), ("  b: 1", "  "), ("  - c:", "      "), ("d:  # why", "  "), ("", "")],
)
def test_the_next_line_is_indented_as_yaml_wants_it(line: str, blanks: str) -> None:
    assert indentation(line) == blanks


def test_a_character_has_a_line_and_a_column() -> None:
    assert [location_of("ab\ncd", offset) for offset in (0, 2, 3, 5)] == [
        (0, 0),
        (0, 2),
        (1, 0),
        (1, 2),
    ]


async def test_an_option_without_effect_is_hinted_while_typing_and_can_be_run(home: Path) -> None:
    async with editing(home) as at:
        await at.write("params:", "fio: {global: {ioengine: psync, iodepth: 4}}\nparams:")
        assert at.problems == []
        pane = at.screen.query_one("#editor-problems")
        assert pane.border_subtitle == "1 hint"
        await at.sees("iodepth has no effect with psync: it is synchronous")


async def test_enter_and_backspace_follow_the_indentation(home: Path) -> None:
    async with editing(home) as user:
        user.screen.area.move_cursor((3, 7))
        await user.press("enter")
        await user.types("size: 1G")
        assert user.screen.area.text.split("\n")[4] == "  size: 1G"
        await user.press("enter", "backspace")
        assert user.screen.area.cursor_location == (5, 0)


# -- changing a value in the text


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("profile: a/b\n", "profile: a/b\nparams:\n  x: 1\n"),
        ("params:\nprofile: a/b\n", "params:\n  x: 1\nprofile: a/b\n"),
        ("params: {}  # none\n", "params:  # none\n  x: 1\n"),
        ("params:\n  y: 2\ntitle: t\n", "params:\n  y: 2\n  x: 1\ntitle: t\n"),
        (
            "params:\n  y: {default: 2}\ntitle: t\n",
            "params:\n  x: 1\n  y: {default: 2}\ntitle: t\n",
        ),
        ("params: {y: 2}\n", "params: {x: 1, y: 2}\n"),
        ("params: {x: 2}  # why\n", "params: {x: 1}  # why\n"),
        (
            "params:\n  x: {default: 60s, kind: duration}\n",
            "params:\n  x: {default: 1, kind: duration}\n",
        ),
    ],
)
def test_a_default_is_changed_where_it_stands_and_nothing_else(text: str, becomes: str) -> None:
    assert with_default(text, "x", "1") == becomes
    assert load(becomes, "")


@pytest.mark.parametrize(
    "value", ["30s", "/mnt/x", "a b", "x: y", "010", "null", "{x}", "7", "yes", "1.5", '"']
)
def test_a_value_is_written_so_that_it_is_read_as_it_was_typed(value: str) -> None:
    read = load(f"x: {written(value)}\n", "").data["x"]
    assert value in (
        str(read),
        {True: "yes", False: "no"}.get(read) if isinstance(read, bool) else None,
    )


# -- problems


async def test_problems_come_as_one_types_with_reason_and_what_is_allowed(home: Path) -> None:
    async with editing(home) as user:
        assert user.problems == []
        assert "F4" not in str(user.screen.query_one(KeyBar).render()), "there is none to go to"
        await user.write("runtime: 30s", "runtme: 30s")
        assert user.problems == [
            "5:3: unknown parameter 'runtme' (did you mean 'runtime'?); "
            "weka/read-iops has: directory, runtime, size, numjobs, startdelay"
        ]
        await user.write("title: Mine", "drop_caches: maybe")
        assert (
            user.problems[0] == "3:14: drop_caches: found 'maybe'; allowed: 'no', 'try', 'require'"
        )
        await user.sees("2 problems")
        await user.sees("F4 next problem")
        assert sorted(user.screen.area.problems) == [2, 4]


async def test_the_line_with_a_problem_is_marked(home: Path) -> None:
    async with editing(home) as user:
        await user.write("30s", "soon")
        (line,) = (line for line in user.user.text.splitlines() if "runtime: soon" in line)
        assert "✗5" in line
        await user.write("soon", "20s")
        await user.sees("no problem")
        assert "✗" not in user.user.text


async def test_broken_yaml_is_reported_at_its_place(home: Path) -> None:
    async with editing(home) as user:
        await user.write("title: Mine", "title: [a")
        assert "broken YAML" in user.problems[0]


async def test_f4_goes_from_problem_to_problem(home: Path) -> None:
    async with editing(home) as user:
        await user.write("title: Mine", "titel: Mine")
        await user.write("30s", "soon")
        places = []
        for _ in range(3):
            await user.press("f4")
            places.append(user.screen.area.cursor_location)
        assert places == [(2, 0), (4, 2), (2, 0)]


# -- beside the text


async def test_the_job_file_follows_the_text(home: Path) -> None:
    async with editing(home) as user:
        await user.sees("runtime=30s")
        await user.write("30s", "45s")
        await user.sees("runtime=45s")
        await user.write("45s", "soon")
        await user.sees("last valid version")


async def test_of_a_file_that_is_broken_from_the_start_the_extended_profile_is_shown(
    home: Path,
) -> None:
    own_file(home, OWN.replace("30s", "soon"))
    async with opened(options(home), size=WIDE) as user:
        user.app.steps.keep("editor", EditorScreen(home / "profiles" / "my" / "reads.yaml"))
        user.app.show_step("editor")
        await user.sees("Job file of weka/read-iops")
        await user.sees("runtime=300s")


async def test_a_line_that_is_longer_than_the_pane_ends_in_an_ellipsis(home: Path) -> None:
    async with editing(home) as user:
        await user.write("Mine", "a" * 200)
        await user.sees("aaa…│")


async def test_what_differs_from_the_preset_is_shown(home: Path) -> None:
    async with editing(home) as user:
        await user.press("f3")
        await user.sees("my/reads compared with weka/read-iops")
        await user.sees("runtime  300s → 30s")
        await user.sees("- runtime=300s")
        assert "not saved" not in user.user.text
        await user.write("30s", "31s")
        await user.sees("not saved")


async def test_f3_goes_round_and_the_text_can_stand_alone(home: Path) -> None:
    async with editing(home, size=(80, 24)) as user:
        seen = []
        for _ in range(5):
            seen.append(user.screen.view)
            await user.press("f3")
        assert seen == ["text", "job", "difference", "values", "text"]


async def test_a_value_typed_in_the_form_goes_into_the_text(home: Path) -> None:
    async with editing(home) as user:
        await user.press("f5")
        await user.sees(lambda: user.screen.form.has_focus_within)
        await user.press("tab", "ctrl+u")
        assert "Esc to the text" in user.user.text.splitlines()[-1]
        await user.types("45s")
        assert "  runtime: 45s\n" in user.screen.area.text
        await user.sees("runtime=45s")  # in the job file below the form
        await user.press("tab", "ctrl+u")
        await user.types("1G")
        assert "  size: 1G\n" in user.screen.area.text
        await user.press("escape")
        assert user.user.app.focused is user.screen.area
        await user.press("ctrl+z")
        assert "1G" not in user.screen.area.text


@pytest.mark.parametrize(
    ("after", "ends_in_form"), [((), True), (("f3",), False)], ids=["f5", "f5 and f3"]
)
async def test_the_form_is_entered_once_the_text_was_looked_at(
    home: Path, monkeypatch: pytest.MonkeyPatch, after: tuple[str, ...], ends_in_form: bool
) -> None:
    may_look = threading.Event()

    def late(*what: Any) -> LoadedText:
        may_look.wait(PATIENCE_S)
        return judge(*what)

    monkeypatch.setattr(screens_editor, "judge", late)
    path = own_file(home)
    async with opened(options(home), size=WIDE) as user:
        user.app.steps.keep("editor", EditorScreen(path))
        user.app.show_step("editor")
        await user.pilot.pause()
        await user.press("f5", *after)
        may_look.set()
        editor = Editing(user, path).screen
        await user.sees(lambda: bool(editor.form.fields))
        await user.sees(lambda: editor.form.has_focus_within or not ends_in_form)
        assert editor.form.has_focus_within == ends_in_form


async def test_a_value_that_is_wrong_stays_in_the_form(home: Path) -> None:
    async with editing(home) as user:
        await user.press("f5")
        await user.sees(lambda: user.screen.form.has_focus_within)
        await user.press("tab", "ctrl+u")
        await user.types("soon")
        await user.sees("'soon' is not a duration")
        assert "soon" not in user.screen.area.text


# -- saving and leaving


async def test_saving_is_never_refused_and_a_broken_file_is_listed_as_broken(home: Path) -> None:
    async with editing(home) as user:
        await user.write("30s", "soon")
        await user.press("ctrl+s")
        await user.user.is_told("saved with 1 problem: it cannot be run yet")
        assert "soon" in user.path.read_text()
        await user.press("escape")
        await user.sees(lambda: user.user.scope == "profiles")
        await user.sees("broken")


async def test_what_is_saved_is_whole_and_the_schema_lies_beside(home: Path) -> None:
    async with editing(home) as user:
        await user.write("30s", "20s")
        await user.press("ctrl+s")
        await user.sees(lambda: not user.screen.unsaved)
        assert user.path.read_text() == OWN.replace("30s", "20s")
        assert (home / "profiles" / SCHEMA_FILE).exists()
        assert [path.name for path in user.path.parent.iterdir()] == ["reads.yaml"]


async def test_a_file_that_cannot_be_written_is_reported_and_the_text_stays(home: Path) -> None:
    async with editing(home) as user:
        await user.write("30s", "20s")
        user.screen.file.path = Path("/proc/nothing/here.yaml")
        await user.press("ctrl+s")
        await user.user.is_told("cannot be written")
        assert user.screen.unsaved


@pytest.mark.parametrize(("key", "kept"), [("s", True), ("d", False)])
async def test_leaving_asks_when_something_is_not_saved(home: Path, key: str, kept: bool) -> None:
    async with editing(home) as user:
        await user.write("30s", "20s")
        await user.press("escape")
        await user.sees("Save my/reads.yaml?")
        await user.press(key)
        await user.sees(lambda: user.user.scope == "profiles")
        assert ("20s" in user.path.read_text()) is kept


async def test_what_is_asked_on_leaving_knows_the_last_letter(home: Path) -> None:
    async with editing(home) as user:
        await user.press("x", "escape")  # before the text is looked at
        await user.sees("not saved")
        assert "it can be saved but not run" in user.user.app.screen.body  # type: ignore[attr-defined]


async def test_leaving_without_changes_asks_nothing(home: Path) -> None:
    async with editing(home) as user:
        await user.press("escape")
        await user.sees(lambda: user.user.scope == "profiles")


@pytest.mark.parametrize(("key", "kept"), [("s", True), ("d", False)])
async def test_quitting_asks_first_as_well(home: Path, key: str, kept: bool) -> None:
    async with editing(home) as user:
        await user.write("30s", "20s")
        await user.press("ctrl+c")
        await user.sees("Save my/reads.yaml?")
        await user.press(key)
        await user.sees(lambda: user.user.app._exit)
        assert ("20s" in user.path.read_text()) is kept


async def test_quitting_can_be_thought_over(home: Path) -> None:
    async with editing(home) as user:
        await user.write("30s", "20s")
        await user.press("ctrl+c")
        await user.sees("Save my/reads.yaml?")
        await user.press("c")
        assert user.screen.unsaved
        assert not user.user.app._exit


# -- others at the same file


async def test_a_file_that_is_saved_outside_is_read_again(home: Path) -> None:
    async with editing(home) as user:
        user.path.write_text(OWN.replace("30s", "77s"))
        await user.sees("runtime=77s")
        assert not user.screen.unsaved


async def test_what_is_typed_wins_over_the_file_only_after_a_question(home: Path) -> None:
    async with editing(home) as user:
        await user.write("30s", "20s")
        user.path.write_text(OWN.replace("30s", "77s"))
        await user.user.is_told("saving asks first")
        await user.press("ctrl+s")
        await user.sees("my/reads.yaml changed on disk")
        await user.press("c")
        assert "77s" in user.path.read_text()
        await user.press("ctrl+s")
        await user.sees("my/reads.yaml changed on disk")
        await user.press("o")
        await user.sees(lambda: "20s" in user.path.read_text())


async def test_the_file_can_be_edited_in_another_editor(home: Path) -> None:
    script = home / "editor.py"
    script.write_text(
        "import sys\nwith open(sys.argv[1], 'a') as file:\n    file.write('latency: x\\n')\n"
    )
    environ = {"TERM": "xterm-256color", "EDITOR": f"{sys.executable} {script}"}
    async with editing(home, environ=environ) as user:
        await user.write("30s", "20s")
        await user.press("ctrl+o")
        await user.sees("latency: found 'x'")
        assert "20s" in user.path.read_text()


# -- beginning


async def test_e_on_a_profile_of_ones_own_edits_it(home: Path) -> None:
    path = own_file(home)
    async with opened(options(home), size=WIDE) as user:
        await go_to_profile(user, "my/reads")
        await user.press("e")
        await user.sees(lambda: isinstance(user.app.screen, EditorScreen))
        assert user.app.screen.file.path == path  # type: ignore[attr-defined]


async def test_e_on_a_preset_extends_it_under_a_name_of_ones_own(home: Path) -> None:
    async with opened(options(home), size=WIDE) as user:
        await go_to_profile(user, "weka/read-iops")
        await user.press("e")
        await user.sees("New profile based on weka/read-iops")
        await user.press("enter")
        await user.sees(lambda: isinstance(user.app.screen, EditorScreen))
        path = home / "profiles" / "my" / "read-iops.yaml"
        assert path.read_text().split("\n")[:4] == [
            f"# yaml-language-server: $schema=../{SCHEMA_FILE}", "profile: my/read-iops",
            "extends: weka/read-iops",
            'title: "WEKA read IOPS (read-iops)"',
        ]  # fmt: skip
        await user.sees("no problem")


async def test_a_preset_can_be_copied_instead(home: Path) -> None:
    async with opened(options(home), size=WIDE) as user:
        await go_to_profile(user, "weka/read-iops")
        await user.press("N")
        await user.sees("New profile based on weka/read-iops")
        await user.press("tab", "tab", "enter")
        await user.sees(lambda: isinstance(user.app.screen, EditorScreen))
        text = (home / "profiles" / "my" / "read-iops.yaml").read_text()
        assert "extends" not in text
        assert "fio:" in text


async def test_a_name_that_is_taken_or_no_name_is_refused_while_it_is_typed(home: Path) -> None:
    own_file(home)
    async with opened(options(home), size=WIDE) as user:
        await go_to_profile(user, "weka/read-iops")
        await user.press("e")
        await user.press("ctrl+u")
        await user.types("my/reads")
        await user.sees("my/reads exists")
        await user.types("?")
        await user.sees("family/name in lower case")
        await user.press("enter")
        assert not isinstance(user.app.screen, EditorScreen)


async def test_what_comes_of_the_text_is_shown_once_the_terminal_is_wide_unless_somebody_chose(
    home: Path,
) -> None:
    async with editing(home, size=(80, 24)) as editor:
        assert editor.screen.view == "text"
        await editor.user.pilot.resize_terminal(*WIDE)
        await editor.sees("[global]")
        assert "$EDITOR" in str(editor.screen.query_one(KeyBar).render())
        await editor.user.pilot.resize_terminal(80, 24)
        await editor.sees(lambda: editor.screen.view == "text")
        await editor.press("f5")
        await editor.user.pilot.resize_terminal(*WIDE)
        await editor.sees(lambda: editor.screen.size.width == WIDE[0])
        assert editor.screen.view == "values"

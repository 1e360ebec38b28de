"""Exporting from the screens."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widget import Widget

from tests.app.driver import User, opened, options
from tests.app.journal_maker import RUN_ID, RunMaker, host_names
from tests.app.stage import text_of
from tui.app.dialogs.export import ExportDialog
from tui.app.widgets.form import TextInput
from tui.app.widgets.picklist import PickList
from tui.library.build import write_record


@pytest.fixture
def maker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunMaker:
    """A finished run with its record, in the store of the app."""
    maker = (
        RunMaker(tmp_path / "runs" / RUN_ID, host_names(2))
        .begin()
        .layout(2, 2)
        .go()
        .measure(5)
        .finish()
    )
    write_record(maker.run_dir)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return maker


def path_of(user: User) -> str:
    """What stands in the field for the path; empty while the dialog is not there."""
    return "".join(
        field.value for field in user.app.screen.query("#export-path").results(TextInput)
    )


async def ask(user: User, tmp_path: Path) -> None:
    """Press the key that exports the only run, on Runs."""
    await user.press("6")
    await user.sees("weka/read-iops")
    await user.press("e")
    await user.sees(lambda: path_of(user) == f"{tmp_path}/here/{RUN_ID}.csv/")


@pytest.mark.parametrize("opening", [(), ("enter",)])
async def test_e_asks_for_the_format_writes_and_says_the_path(
    maker: RunMaker, tmp_path: Path, opening: tuple[str, ...]
) -> None:
    async with opened(options(tmp_path), size=(100, 30)) as user:
        await user.press("6")
        await user.sees("weka/read-iops")
        await user.press(*opening)
        await user.sees("ENDED EARLY" if opening else "took")
        await user.press("e")
        await user.sees("backfilling Prometheus")
        await user.sees(lambda: path_of(user) == f"{tmp_path}/here/{RUN_ID}.csv/")
        await user.press("enter")
        await user.sees(lambda: "written: " in user.told)
    assert f"{RUN_ID}.csv/summary.csv and 3 more files" in user.told
    assert (tmp_path / "here" / f"{RUN_ID}.csv" / "summary.csv").read_text().startswith("run_id,")


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_the_chosen_format_is_reported_whole(
    maker: RunMaker, tmp_path: Path, size: tuple[int, int]
) -> None:
    async with opened(options(tmp_path), size=size) as user:
        await ask(user, tmp_path)
        await user.press("down")
        dialog = user.app.screen
        assert isinstance(dialog, ExportDialog)
        chosen = dialog.formats[1]
        assert chosen.name == "fio-client-json" and chosen.details
        told = (chosen.tools, chosen.contents, chosen.details)
        shown = [dialog.query_one(f"#export-{name}") for name in ("formats", "about")]
        await user.sees(lambda: all(part in " ".join(map(words_of, shown)) for part in told))


def words_of(widget: Widget) -> str:
    """Return what a widget shows, in one line."""
    return " ".join(text_of(widget).split())


async def test_a_path_that_was_typed_stays_when_the_format_changes(
    maker: RunMaker, tmp_path: Path
) -> None:
    async with opened(options(tmp_path), size=(100, 30)) as user:
        await ask(user, tmp_path)
        await user.press("tab", "ctrl+u")
        await user.types("mine.xml")
        await user.press("tab", "G")
        await user.press(*("k" for _ in range(20)))
        assert path_of(user) == "mine.xml"
        for _ in range(20):
            if user.app.screen.query_one("#export-formats", PickList).cursor_key == "junit":
                break
            await user.press("j")
        await user.press("enter")
        await user.sees(lambda: "written: mine.xml" in user.told)
    assert "<testsuite" in (tmp_path / "here" / "mine.xml").read_text()


async def test_what_cannot_be_written_is_reported(maker: RunMaker, tmp_path: Path) -> None:
    async with opened(options(tmp_path), size=(100, 30)) as user:
        await ask(user, tmp_path)
        await user.press("tab", "ctrl+u")
        await user.types("/dev/null/x/")
        await user.press("enter")
        await user.sees("cannot be written")
    assert not (tmp_path / "here" / f"{RUN_ID}.csv").exists()


async def test_space_leaves_names_out_and_what_tells_events_is_refused_then(
    maker: RunMaker, tmp_path: Path
) -> None:
    async with opened(options(tmp_path), size=(80, 24)) as user:
        await ask(user, tmp_path)
        await user.press("space")
        await user.sees(lambda: path_of(user) == f"{tmp_path}/here/redacted.csv/")
        await user.press("enter")
        await user.is_told("written: ")
        await user.press("e")
        await user.sees(lambda: path_of(user) == f"{tmp_path}/here/{RUN_ID}.csv/")
        while user.app.screen.query_one("#export-formats", PickList).cursor_key != "jsonl":
            await user.press("j")
        await user.press("space", "enter")
        await user.sees("jsonl cannot be redacted")
    texts = "".join(path.read_text() for path in (tmp_path / "here" / "redacted.csv").iterdir())
    assert "host-1" in texts and not any(host in texts for host in maker.hosts)

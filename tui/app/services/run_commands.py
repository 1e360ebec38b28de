"""Commands on the selected run, the same on Runs and on Result."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from textual.message import Message

from tui.app.dialogs.confirm import Confirm
from tui.app.dialogs.text_entry import LineDialog, NoteDialog
from tui.app.services import resuming
from tui.app.services.exporting import copy_of_run, export_run, report_runs
from tui.app.services.remedies import clean_hosts
from tui.library.summary import parse_tags, rename, retag, star, summarize, tags_text
from tui.model.problem import BenchtuiError, UsageError

if TYPE_CHECKING:
    from tui.app.frame.step_screen import StepScreen

TAGS_HELP = "NAME or NAME=VALUE, separated by spaces"
TITLE_HELP = "name in lists and reports; empty: the profile's name"


class RunChanged(Message):
    """Sent to a command's screen when the run's record or marks have changed, or it was deleted."""


class RunCommand(Struct, frozen=True):
    """A command on a run.

    `changes`: what the command changes. Shared runs, and the hosts of unpacked runs, must not be
    changed.
    """

    does: Callable[[StepScreen, Path], object]
    changes: Literal["nothing", "run", "hosts"] = "nothing"


def perform(name: str, screen: StepScreen) -> None:
    """Run a command on the selected run, or say why that is not possible."""
    command, run_dir = COMMANDS[name], screen.run_at_hand
    if run_dir is not None and (
        command.changes == "nothing" or is_ours(screen, run_dir, hosts=command.changes == "hosts")
    ):
        command.does(screen, run_dir)


def is_ours(screen: StepScreen, run_dir: Path, *, hosts: bool = False) -> bool:
    """Return whether a run may be changed or, with `hosts`, whether commands may use its hosts.

    Says why if not.
    """
    try:
        store = screen.shell.store
        (store.check_hosts_ours if hosts else store.check_ours)(run_dir)
    except UsageError as error:
        screen.notify(str(error), severity="warning")
        return False
    return True


# -- read


def replay(screen: StepScreen, run_dir: Path) -> None:
    """Replay a run on the Live screen."""
    if (run_dir / "journal.jsonl").is_file():
        screen.shell.open_live(run_dir, 1.0)
    else:
        screen.notify("this run has no journal to replay", severity="warning")


def export(screen: StepScreen, run_dir: Path) -> None:
    """Ask for format and path, and export a run."""
    screen.run_worker(export_run(screen, run_dir), group="export", exit_on_error=False)


def copy(screen: StepScreen, run_dir: Path) -> None:
    """Ask which text of a run to copy, and copy it through the terminal."""
    screen.run_worker(
        copy_of_run(screen, run_dir), group="copy", exclusive=True, exit_on_error=False
    )


def report(screen: StepScreen, *run_dirs: Path) -> None:
    """Ask for format and path, and write a report on runs."""
    work = report_runs(screen, [[run_dir] for run_dir in run_dirs], screen.shell.options.environ)
    screen.run_worker(work, group="report", exclusive=True, exit_on_error=False)


# -- measure again, or more


def run_again(screen: StepScreen, run_dir: Path) -> None:
    """Show Review with the hosts and parameters of a run."""
    screen.shell.run_worker(
        resuming.run_again(screen.shell, run_dir), group="again", exclusive=True
    )


def resume(screen: StepScreen, run_dir: Path) -> None:
    """Ask, then measure the missing parts of a run."""
    screen.shell.run_worker(
        resuming.resume_run(screen.shell, run_dir), group="resume", exclusive=True
    )


def prove(screen: StepScreen, run_dir: Path) -> None:
    """Ask, then test the bottleneck of a run with a counter-experiment."""
    screen.shell.run_worker(
        resuming.prove_run(screen.shell, run_dir), group="prove", exclusive=True
    )


# -- change the saved run


def change(screen: StepScreen, write: Callable[[], object]) -> None:
    """Call `write` in a thread, show its errors, and have the screen reload the run."""

    async def work() -> None:
        try:
            await asyncio.to_thread(write)
        except BenchtuiError as error:
            screen.notify(str(error), severity="error")
        screen.post_message(RunChanged())

    screen.run_worker(work(), group="change", exit_on_error=False)


def note(screen: StepScreen, run_dir: Path) -> None:
    """Ask for a note on a run and keep it."""

    def write(text: str) -> None:
        if text:
            write_note(run_dir, text)
            screen.app.call_from_thread(screen.notify, "note saved")

    ask_and_change(screen, NoteDialog(run_dir.name), write)


def write_note(run_dir: Path, text: str) -> None:
    """Add a note through the run's engine or, after its end, to its record.

    Raises BenchtuiError.
    """
    from tui.engine.control import NotRunning, demand
    from tui.library.additions import keep_note

    try:
        demand(run_dir, {"verb": "note", "text": text})
    except NotRunning:
        keep_note(run_dir, text)


def toggle_star(screen: StepScreen, run_dir: Path) -> None:
    """Star or unstar the run."""
    if (run := summarize(run_dir)) is not None:
        change(screen, partial(star, run_dir, starred=not run.starred))


def tags(screen: StepScreen, run_dir: Path) -> None:
    """Ask for the tags of a run and keep them."""
    if (run := summarize(run_dir)) is not None:
        dialog = LineDialog(f"Tags of {run_dir.name}", TAGS_HELP, tags_text(run.tags))
        ask_and_change(screen, dialog, lambda text: retag(run_dir, parse_tags(text.split())))


def title(screen: StepScreen, run_dir: Path) -> None:
    """Ask for the title of a run and keep it."""
    if (run := summarize(run_dir)) is not None:
        ask_and_change(
            screen,
            LineDialog(f"Title of {run_dir.name}", TITLE_HELP, run.title),
            partial(rename, run_dir),
        )


def ask_and_change(screen: StepScreen, dialog: LineDialog, write: Callable[[str], object]) -> None:
    """Ask for a line of text, which may be empty, and pass it to `write` in a thread.

    The dialog stays open while the text is not accepted.
    """

    async def accept(text: str | None) -> None:
        if text is not None:
            await asyncio.to_thread(write, text)
            screen.post_message(RunChanged())

    screen.app.push_screen(dialog.accepting(accept))


def clean(screen: StepScreen, run_dir: Path) -> None:
    """Ask, then remove a run's files from its hosts."""

    async def work() -> None:
        if await clean_hosts(screen, run_dir):
            screen.post_message(RunChanged())

    screen.run_worker(work(), group="clean", exit_on_error=False)


def delete(screen: StepScreen, run_dir: Path) -> None:
    """Ask, then delete a run for good."""
    from tui.library.unfinished import check_removable, remove_run, still_on_hosts

    if screen.shell.run_is_alive(run_dir):
        screen.notify("this run is still running: stop it on Live first", severity="warning")
        return
    try:
        check_removable(run_dir)
    except UsageError as error:
        screen.notify(str(error), severity="warning")
        return
    held = still_on_hosts(run_dir, recover="press R", clean="press C first")
    body = (
        f"{run_dir.name}\nThe record, journal and raw output will be permanently removed from this"
        " machine."
    )

    def remove() -> None:
        remove_run(run_dir)
        screen.app.call_from_thread(screen.shell.forget_run, run_dir)

    def answered(answer: str | None) -> None:
        if answer == "yes":
            change(screen, remove)

    screen.app.push_screen(
        Confirm("Delete this run?", f"{body}\n\n{held}" if held else body, warns=True), answered
    )


COMMANDS: Mapping[str, RunCommand] = {
    "replay": RunCommand(replay),
    "export": RunCommand(export),
    "copy": RunCommand(copy),
    "report": RunCommand(report),
    "again": RunCommand(run_again),
    "resume": RunCommand(resume, "hosts"),
    "prove": RunCommand(prove, "hosts"),
    "note": RunCommand(note, "run"),
    "star": RunCommand(toggle_star, "run"),
    "tags": RunCommand(tags, "run"),
    "title": RunCommand(title, "run"),
    "clean": RunCommand(clean, "hosts"),
    "delete": RunCommand(delete, "run"),
}

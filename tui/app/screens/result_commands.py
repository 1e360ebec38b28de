"""Result: the lines of the tab Commands."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tui.app.screens.result_page import Page
from tui.metrics import units
from tui.model.plain import printable
from tui.text.line import (
    BAD,
    GOOD,
    HEADING,
    LABEL,
    TEXT,
    VALUE,
    Line,
    Run,
    beside,
    command_lines,
    folded,
    key_rule,
    labelled,
    packed,
    rule,
)
from tui.text.names import some_of

if TYPE_CHECKING:
    from tui.model.record import CommandRecord

MINUTE_S = 60.0
BESIDE_FROM, GUTTER = 150, 3  # cells from which the job file is on the right; between the two
COMMANDS_FROM, COMMANDS_SHARE = 100, 0.45  # the same beside commands; their share of the width


def commands_lines(page: Page, width: int, _: int) -> list[Line]:
    """Return the command that repeats the run, the commands, the job file, and the phases.

    Commands and the first job file are those of the current step. The job file is on the right if
    there is room.
    """
    left = round(width * COMMANDS_SHARE) if width >= COMMANDS_FROM else width
    job = job_file_lines(page, width - left - GUTTER if left < width else width)
    left = left if job else width
    blocks = [repeat_lines(page, left), _commands(page, left), phase_lines(page, left)]
    if job and left == width:
        blocks.insert(2, [Line(), *job])
    lines = [line for block in blocks for line in block][1:]  # blocks begin with an empty line
    return beside(lines, job, left + GUTTER) if job and left < width else lines


def phase_lines(page: Page, width: int) -> list[Line]:
    """Return the phases of the run and of the current step, in as few lines as possible."""
    items: list[list[Run]] = [
        [mark, (f"{name} ", TEXT), (took, VALUE)] for mark, name, took in phases_of(page)
    ]
    return [Line(), rule("Phases", "", width), *packed(items, width)] if items else []


def phases_of(page: Page) -> Iterator[tuple[Run, str, str]]:
    """Yield mark, name and duration of each phase of the run and of the current step."""
    record, step = page.record, page.shown_step
    phases = [*record.phases, *(step.phases if step is not None else [])]
    # the record lists the end of a run before its steps
    for phase in sorted(phases, key=lambda phase: phase.start_s or 0.0):
        took = (
            _took((phase.end_s or 0.0) - (phase.start_s or 0.0))
            if phase.end_s is not None
            else "no end"
        )
        mark: Run = (
            ("✓ ", GOOD) if phase.ok else ("✗ ", BAD) if phase.ok is False else ("· ", LABEL)
        )
        yield mark, phase.name, took


def _took(seconds: float) -> str:
    return units.duration(seconds) if seconds >= MINUTE_S else units.seconds(seconds)


def _commands(page: Page, width: int) -> list[Line]:
    index = page.shown_step.index if page.shown_step is not None else 0
    commands = [each for each in page.record.provenance.commands if each.step == index]
    if not commands:
        return []
    count = len({each.host for each in commands})
    lines = [Line(), rule("Commands", units.plural(count, "host"), width)]
    for (name, words), hosts in _alike(commands).items():
        lines += labelled([(f"{name}  ", HEADING)], [(some_of(hosts), LABEL)], width)
        lines += command_lines(words, width)
    return lines


def repeat_lines(page: Page, width: int) -> list[Line]:
    """Return the command that repeats the run; empty for an imported one."""
    from tui.export.copies import command_line

    if page.record.state == "imported":
        return []
    words = shlex.split(command_line(page.record))
    return [Line(), key_rule("Repeat", [("y", "copies")], width), *command_lines(words, width)]


def job_file_lines(page: Page, width: int) -> list[Line]:
    """Return the first job file of the current step; empty without one."""
    from tui.app.screens.review_plan import job_line

    index = page.shown_step.index if page.shown_step is not None else 0
    job = next((job for job in page.record.profile.job_files if job.step == index), None)
    if job is None:
        return []
    lines = [rule("Job file", job.host, width)]
    for line in job.text.rstrip().splitlines():
        lines += folded(job_line(printable(line)), width)
    return lines


def _alike(commands: Sequence[CommandRecord]) -> dict[tuple[str, tuple[str, ...]], list[str]]:
    """Return the hosts of each distinct command, by phase and words."""
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for each in commands:
        found.setdefault((each.phase, tuple(each.argv)), []).append(each.host)
    return found

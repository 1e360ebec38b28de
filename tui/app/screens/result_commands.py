"""Result: the lines of the tab Commands."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from tui.app.screens.result_page import Page
from tui.metrics import units
from tui.model.plain import printable, some
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
    clip,
    labelled,
    rule,
)

MINUTE_S = 60.0
BESIDE_FROM, GUTTER = 150, 3  # cells from which the job file is on the right; between the two


def commands_lines(page: Page, width: int, _: int) -> list[Line]:
    """Return phases with durations, commands, and the first job file of the current step.

    Then the command that repeats the run. The job file is on the right if there is room.
    """
    half = (width - GUTTER) // 2
    if width >= BESIDE_FROM and (job := job_file_lines(page, width - half - GUTTER)):
        left = [*phase_lines(page, half), *_commands(page, half), *repeat_lines(page, half)]
        return beside(left, job, half + GUTTER)
    lines = [*phase_lines(page, width), *_commands(page, width)]
    job = job_file_lines(page, width)
    return [*lines, *([Line(), *job] if job else []), *repeat_lines(page, width)]


def phase_lines(page: Page, width: int) -> list[Line]:
    """Return the phases of the run and of the current step, a line each."""
    step = page.shown_step
    lines = [rule("Phases", step.name if step is not None else "", width)]
    for mark, name, took in phases_of(page):
        lines.append(Line.of(*clip([mark, (f"{name:<11}", TEXT), (f"{took:>8}", VALUE)], width)))
    return lines


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
    lines = [Line(), rule("Commands", f"{len(commands)} in this step", width)]
    for text, hosts in _alike(
        [(each.host, each.phase, shlex.join(each.argv)) for each in commands]
    ).items():
        name, command = text
        lines += labelled([(f"{name}  ", HEADING)], [(some(hosts), LABEL)], width)
        lines += labelled([("  ", TEXT)], [(printable(command), TEXT)], width)
    return lines


def repeat_lines(page: Page, width: int) -> list[Line]:
    """Return the command that repeats the run; empty for an imported one."""
    from tui.export.copies import command_line

    if page.record.state == "imported":
        return []
    command = [(printable(command_line(page.record)), TEXT)]
    return [Line(), rule("Repeat", "y copies", width), *labelled([("  ", TEXT)], command, width)]


def job_file_lines(page: Page, width: int) -> list[Line]:
    """Return the first job file of the current step; empty without one."""
    index = page.shown_step.index if page.shown_step is not None else 0
    job = next((job for job in page.record.profile.job_files if job.step == index), None)
    if job is None:
        return []
    text = job.text.splitlines()
    return [
        rule("Job file", job.host, width),
        *(Line.of(*clip([(printable(line), TEXT)], width)) for line in text),
    ]


def _alike(commands: list[tuple[str, str, str]]) -> dict[tuple[str, str], list[str]]:
    """Return the hosts of each distinct command, by phase and command."""
    found: dict[tuple[str, str], list[str]] = {}
    for host, phase, text in commands:
        found.setdefault((phase, text), []).append(host)
    return found

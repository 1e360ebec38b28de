"""Tabs that tell of a run beside its figures: findings, facts and differences, telemetry, commands."""

from __future__ import annotations

import shlex

from tui.app.screens.result.page import Page, course
from tui.metrics import units
from tui.metrics.telemetry import metric_of
from tui.model.plain import printable, some
from tui.results.text.conditions import attest_texts, precondition_texts
from tui.results.text.findings import record_lines
from tui.results.text.problems import problem_lines
from tui.text.facts import common_lines, differing_lines, machine_lines
from tui.text.line import BAD, GOOD, HEADING, LABEL, TEXT, VALUE, WARN, Line, Run, clip, fit, labelled, rule


def facts_lines(page: Page, width: int, _: int) -> list[Line]:
    """Return notes, tags, changed parameters, what the hosts are, files left behind, and where the record is."""
    from tui.results.record.facts import facts_together

    record = page.record
    lines: list[Line] = []
    changed = ", ".join(f"{name}={value}" for name, value in record.profile.changed.items())
    tags = ", ".join(f"{name}={value}" for name, value in record.tags.items())
    versions = ", ".join(sorted(set(record.provenance.tool_versions.values())))
    sections = [("Changed", changed), ("Tags", tags), ("Tool", versions)]
    sections += [("Note", note.text) for note in record.notes]
    sections += [("Prepared", text) for text in precondition_texts(record)]
    sections += [("Attested", text) for text in attest_texts(record)]
    lines += [line for name, text in sections if text for line in fact(name, text, width)]
    found = facts_together(record)
    same = machine_lines({host.name: host.facts for host in record.hosts})
    for label, runs in (*same, *common_lines(found), *differing_lines(found)):
        lines += labelled([(f"{'CPU' if label == 'cpu' else label.capitalize():<9}", LABEL)], runs, width)
    for host in record.hosts:
        if host.files_left is not None:
            size = f" ({units.size(host.files_left.bytes)})" if host.files_left.bytes else ""
            lines += fact("Left", f"{host.name}{size}  {', '.join(host.files_left.paths)}", width)
    lines += fact("Record", str(page.path), width)
    return [rule("About this run", "y copies", width), *lines]


def fact(name: str, text: str, width: int) -> list[Line]:
    """Return a labelled text, wrapped under itself."""
    return labelled([(f"{name:<9}", LABEL)], [(text, TEXT)], width)


def telemetry_lines(page: Page, width: int, _: int) -> list[Line]:
    """Return what the hosts of a step did meanwhile; what is too long for a line goes on below."""
    from tui.results.text.host_load import load_table

    found = load_table(page.shown_step, "clients", page.record.thresholds) if page.shown_step is not None else []
    lines = [rule("Load", "mean/largest, while it was measured", width)] if found else []
    for line in found:
        short = line.width <= width
        lines += [line] if short else labelled(line.runs[:-1], [line.runs[-1]], width, None if line.runs[1:] else 2)
    return [*lines, *([Line()] if lines else []), *telemetry_curves(page, width)]


def telemetry_curves(page: Page, width: int) -> list[Line]:
    """Return how busy the CPU of each machine was over time, a line each."""
    step = page.shown_step
    looked = [host for host in (step.telemetry if step is not None else []) if any(host.values_of("cpu.busy"))]
    if not looked:
        return []
    lines = [rule("CPU busy over time", "0 to 100 %", width)]
    name_width = min(18, max(len(host.host) for host in looked) + 1)
    room = width - name_width - 8
    for host in looked:
        values = host.values_of("cpu.busy")[host.quiet :]
        column = host.column("cpu.busy")
        mean: Run = ("", LABEL)
        if column is not None and column.mean is not None:
            full = metric_of("cpu.busy").is_full(column.mean, page.record.thresholds)
            mean = (f"{column.mean:>5.0f} %", WARN if full else LABEL)
        line = course(values, room, page.symbols, 100.0)
        lines.append(Line.of((fit(host.host, name_width), TEXT), (line, "other"), mean))
    return lines


def findings_lines(page: Page, width: int, _: int) -> list[Line]:
    """Return problems of hosts, every finding whole, and the checks that could not be made."""
    record = page.record
    lines = problem_lines(record, width, every=True)
    lines += [Line()] if lines else []
    return [*lines, *record_lines(list(record.findings), dict(record.checks_not_made or {}), width)]


def commands_lines(page: Page, width: int, _: int) -> list[Line]:
    """Return the phases of the shown step with their times, its commands, and the job file of its first host."""
    record, step = page.record, page.shown_step
    index = step.index if step is not None else 0
    lines = [rule("Phases", step.name if step is not None else "", width)]
    phases = [*record.phases, *(step.phases if step is not None else [])]
    for phase in sorted(phases, key=lambda phase: phase.start_s or 0.0):  # the end of a run stands before its steps
        took = units.duration((phase.end_s or 0.0) - (phase.start_s or 0.0)) if phase.end_s is not None else "no end"
        mark: Run = ("✓ ", GOOD) if phase.ok else ("✗ ", BAD) if phase.ok is False else ("· ", LABEL)
        lines.append(Line.of(*clip([mark, (f"{phase.name:<11}", TEXT), (f"{took:>8}", VALUE)], width)))
    commands = [each for each in record.provenance.commands if each.step == index]
    lines += [Line(), rule("Commands", f"{len(commands)} of this step", width)] if commands else []
    for text, hosts in _alike([(each.host, each.phase, shlex.join(each.argv)) for each in commands]).items():
        name, command = text
        lines += labelled([(f"{name}  ", HEADING)], [(some(hosts), LABEL)], width)
        lines += labelled([("  ", TEXT)], [(printable(command), TEXT)], width)
    job = next((job for job in record.profile.job_files if job.step == index), None)
    if job is not None:
        lines += [Line(), rule("Job file", job.host, width)]
        lines += [Line.of(*clip([(printable(text), TEXT)], width)) for text in job.text.splitlines()]
    return lines


def _alike(commands: list[tuple[str, str, str]]) -> dict[tuple[str, str], list[str]]:
    """Return commands by phase and text, with the hosts that were given them; a host's own name is no difference."""
    found: dict[tuple[str, str], list[str]] = {}
    for host, phase, text in commands:
        found.setdefault((phase, text), []).append(host)
    return found

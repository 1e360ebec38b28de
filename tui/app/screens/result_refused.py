"""Result: the summary of a run that measured nothing: reason, hosts, remedy, plan."""

from __future__ import annotations

from tui.app.screens.result_commands import (
    BESIDE_FROM,
    GUTTER,
    job_file_lines,
    phase_lines,
    repeat_lines,
)
from tui.app.screens.result_page import Page
from tui.metrics.facts import hosts_text
from tui.text.facts import common_lines, difference_rows, machine_lines
from tui.text.line import (
    BAD,
    LABEL,
    SEVERITY_MARKS,
    TEXT,
    VALUE,
    Line,
    Run,
    beside,
    labelled,
    rule,
    width_of,
)
from tui.text.names import some_of
from tui.text.run_texts import run_text
from tui.view.step_notes import nothing_text, shared_problems

FACT_CELLS = 9


def refused_lines(page: Page, width: int) -> list[Line]:
    """Return why nothing was measured, on which hosts, what to do, and what would have run.

    The job file is on the right if there is room.
    """
    lines = labelled([("✗ ", BAD)], [(reason_text(page), BAD)], width)
    half = (width - GUTTER) // 2
    if width >= BESIDE_FROM and (job := job_file_lines(page, width - half - GUTTER)):
        left = [*_hosts(page, half), *_remedy(page, half), *phase_lines(page, half)]
        return [*lines, Line(), *beside(left, job, half + GUTTER), *_facts(page, width)]
    lines += [Line(), *_hosts(page, width), *_remedy(page, width), *phase_lines(page, width)]
    job = job_file_lines(page, width)
    return [*lines, *([Line(), *job] if job else []), *_facts(page, width)]


def reason_text(page: Page) -> str:
    """Return the statement that nothing was measured, and why, without the hosts listed below."""
    reason = run_text(page.record.reason)
    for each in shared_problems(page.record):
        reason = reason.removesuffix(f": {', '.join(each.hosts)}")
    return nothing_text(reason)


def _hosts(page: Page, width: int) -> list[Line]:
    """Return each problem with its hosts, then the hosts without one."""
    found, names = shared_problems(page.record), [host.name for host in page.record.hosts]
    bad = {name for each in found for name in each.hosts}
    rest = [name for name in names if name not in bad]
    rows: list[tuple[Run, str, Run]] = []
    for each in found:
        mark, role = SEVERITY_MARKS["error" if each.fatal else "warning"]
        rows.append(((f"{mark} ", role), some_of(each.hosts), (each.message, TEXT)))
    if rest:
        rows.append((("· ", LABEL), some_of(rest), ("no problem found", LABEL)))
    widest = max((width_of(who) for _, who, _ in rows), default=0) + 4
    column = widest if widest <= width // 2 else 4
    lines = [rule("Hosts", f"{len(bad)} of {len(names)} with a problem", width)]
    for sign, who, said in rows:
        name: Run = (f"{who:<{column - 4}}", VALUE if said[1] == TEXT else TEXT)
        lines += labelled([sign, name, ("  ", TEXT)], [said], width, column)
    return lines


def _remedy(page: Page, width: int) -> list[Line]:
    """Return the key that solves the problem, and the command that repeats the run."""
    from tui.app.services.remedies import of_record

    remedy, again = of_record(page.record), repeat_lines(page, width)
    if remedy is None:
        return again
    key: list[Run] = [("T ", "accent")]
    lines = [Line(), rule("What to do", "", width), *labelled(key, [(remedy.words, TEXT)], width)]
    return [*lines, *again]


def _facts(page: Page, width: int) -> list[Line]:
    """Return what is common to the hosts, and what differs."""
    from tui.record.host_facts import facts_together

    found = facts_together(page.record)
    same = machine_lines({host.name: host.facts for host in page.record.hosts})
    lines: list[Line] = []
    for title, runs in (*same, *common_lines(found), *difference_rows(found, width)):
        name = "CPU" if title == "cpu" else title
        lines += labelled([(f"{name:<{FACT_CELLS}}", LABEL)], runs, width)
    return [Line(), rule("Host facts", hosts_text(found.hosts), width), *lines] if lines else []

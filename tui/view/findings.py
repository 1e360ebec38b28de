"""Findings of a running or a finished run, as lines for screens."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tui.judge.catalogue import BY_ID
from tui.judge.live import LiveFinding, LiveFindings
from tui.judge.severity import MOOT, by_weight
from tui.judge.wording import gap_reasons_of, message_of, reasons_of, worded
from tui.metrics import units
from tui.metrics.units import clock
from tui.model.record import Finding, RunRecord
from tui.record.cells import point_names, steps_of
from tui.text.line import (
    BRIGHT,
    LABEL,
    SEVERITY_MARKS,
    TEXT,
    Line,
    Run,
    beside,
    fit,
    labelled,
    rule,
    spread,
    width_of,
    wrap,
)
from tui.view.live_health import finding_of, of_role


def brief_lines(
    findings: Sequence[Finding], width: int, record: RunRecord | None = None
) -> list[Line]:
    """Return the message of each finding, the worst first, as `told_once` does."""
    lines: list[Line] = []
    for found in _by_check(findings):
        mark, role = SEVERITY_MARKS[found[0].severity]
        for message in told_once(found, record):
            lines += labelled([(f"{mark} ", role)], [(message, TEXT)], width)
    return lines


def early_text(record: RunRecord) -> str:
    """Return how long a load that ended early ran: ``100 s of 180 s``; for several steps, how many
    ended early: ``2 of 12 steps``. Empty without a finding about it.
    """
    found = [each for each in record.findings if (each.id, each.code) == ("short", "ended")]
    if not found:
        return ""
    if len(record.steps) > 1:
        steps = {step for each in found for step in steps_of(each.scope)}
        return f"{len(steps)} of {record.steps_run} steps"
    ran_s, due_s = (found[0].operands.get(name) for name in ("measured_s", "runtime_s"))
    return f"{units.seconds(ran_s)} of {units.seconds(due_s)}"


def told_once(findings: Sequence[Finding], record: RunRecord | None = None) -> list[str]:
    """Return the messages of findings, equal ones once, each with its points unless it is about all
    points of `record`.
    """
    points = point_names(record.steps if record is not None else ())
    found: dict[str, dict[str, None]] = {}
    for each in findings:
        about = found.setdefault(message_of(each), {})
        about.update((points[step], None) for step in steps_of(each.scope) if points.get(step))
    return [at_points(message, about, points) for message, about in found.items()]


def at_points(message: str, about: Collection[str], points: Mapping[int, str]) -> str:
    """Return a message with the points that it is about, unless these are all `points`."""
    is_part = 0 < len(about) < len({*points.values()})
    return f"{message} ({', '.join(about)})" if is_part else message


def check_lines(
    findings: Sequence[Finding], width: int, when: str = "", record: RunRecord | None = None
) -> list[Line]:
    """Return the findings of one check: all messages, then advice and meaning.

    `when`: the time at which they applied, for a running load. `record`: the run's.
    """
    mark, role = SEVERITY_MARKS[findings[0].severity]
    check = BY_ID.get(findings[0].id)
    lines: list[Line] = []
    for message in told_once(findings, record):
        lines += labelled([(f"{mark} ", role)], [(message, BRIGHT)], width)
    facts = [("when", when, LABEL)]
    if check is not None:
        facts += [("do", check.advice, TEXT), ("why", " ".join(check.means.split()), LABEL)]
    for name, text, role in facts:
        if text:
            lines += labelled([(f"  {name:<6}", LABEL)], [(text, role)], width)
    return [*lines, Line()]


def rule_lines(findings: Sequence[Finding], width: int, *, mpi: bool) -> list[Line]:
    """Return the rule of each check that found something, under its title.

    The check's name is beside its title, unless the title begins with it. `mpi`: the run has an MPI
    program.
    """
    found = dict.fromkeys(each.id for each in findings)
    checks = [check for name in found if (check := BY_ID.get(name)) is not None]
    lines: list[Line] = []
    for check in checks:
        parts = clauses(check.rule_of(mpi=mpi))
        dot = "· " if len(parts) > 1 else ""
        said = check.title.lower().replace(" ", "-").startswith(check.id)
        name: list[Run] = [] if said else [(check.id, LABEL)]
        lines.append(Line.of(*spread([(check.title, TEXT)], name, width)))
        for clause in parts:
            lines += labelled([(f"  {dot}", LABEL)], [(clause, LABEL)], width)
    return [rule("Rules of these findings", "", width), *lines] if lines else []


def clauses(rule: str) -> list[str]:
    """Return the parts of a rule that semicolons separate, except those in parentheses."""
    parts, depth, start = [], 0, 0
    for at, sign in enumerate(rule):
        depth += (sign == "(") - (sign == ")")
        if sign == ";" and depth == 0:
            parts.append(rule[start:at].strip())
            start = at + 1
    return [*parts, rule[start:].strip()]


def record_lines(record: RunRecord, width: int) -> list[Line]:
    """Return every finding of a record in full, their rules, the checks without data for all or
    some steps and hosts, and those that do not apply, with the reasons.
    """
    findings, not_made = list(record.findings), record.checks_not_made or {}
    found = [
        line for each in _by_check(findings) for line in check_lines(each, width, record=record)
    ]
    reasons = reasons_of(not_made)
    moot = {name for name, why in not_made.items() if not isinstance(why, str) and why.code in MOOT}
    missing = {name: why for name, why in reasons.items() if name not in moot}
    others = {name: why for name, why in reasons.items() if name in moot}
    mpi = any(step.metadata is not None for step in record.steps)
    rules = rule_lines(by_weight(findings), width, mpi=mpi)
    return [
        *(found or nothing()),
        *([*rules, Line()] if rules else []),
        *not_made_lines(missing, width),
        *not_made_lines(gap_reasons_of(record), width, "No data for some steps or hosts"),
        *not_made_lines(others, width, "Checks that do not apply"),
    ]


def _by_check(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Return findings grouped by check, the worst first.

    The findings of a check share its rule, meaning and advice.
    """
    found: dict[tuple[str, str], list[Finding]] = {}
    for each in by_weight(findings):
        found.setdefault((each.severity, each.id), []).append(each)
    return list(found.values())


def live_lines(found: LiveFindings, width: int, zero_t: float = 0.0) -> list[Line]:
    """Return the bottlenecks, then current and past findings, each in full with its time.

    A bottleneck is left out if a finding has the same evidence. Below: how many checks run live,
    or that the run has ended; checks that failed. Times count from `zero_t`.
    """
    limited = [
        line
        for step, each in found.bottlenecks.items()
        if finding_of(each, found, step) is None
        for text in [of_role(found.role_of(step), worded(each.text))]
        for line in labelled([("limited by ", LABEL)], [(text, TEXT)], width)
    ]
    lines = [
        line
        for each in found.now
        for line in check_lines([each.finding], width, of_role(each.role, _since(each, zero_t)))
    ]
    lines = [*limited, *([Line()] if limited else []), *(lines or nothing())]
    over = [
        line
        for each in found.was
        for line in check_lines([each.finding], width, _span(each, zero_t))
    ]
    lines += [rule("Earlier findings", "", width), *over] if over else []
    text = f"{len(found.made)} checks run live, the rest after the run."
    text = "The run has ended; these are the findings in its record." if found.settled else text
    return [
        *lines,
        *labelled([], [(text, LABEL)], width),
        Line(),
        *not_made_lines(found.broken, width),
    ]


def _since(each: LiveFinding, zero_t: float) -> str:
    """Return at how many points and since when a finding applies, as far as known."""
    points = f"{each.points} points" if each.points > 1 else ""
    since = "" if each.may_be_older else f"since {_time(each.since_t - zero_t)}"
    return ", ".join(filter(None, (points, since)))


def _time(seconds: float) -> str:
    """Return seconds of the load as a clock; ``before the load`` for findings of the layout."""
    return clock(seconds) if seconds >= 0 else "before the load"


def _span(each: LiveFinding, zero_t: float) -> str:
    step = f"step {each.step + 1}, " if each.step is not None else ""
    step = f"{each.role}: " if each.role else step
    step = f"{each.points} points, last: {step}" if each.points > 1 else step
    return (
        f"{step}{_time(each.since_t - zero_t)} to {_time((each.ended_t or each.since_t) - zero_t)}"
    )


def nothing() -> list[Line]:
    """Return the lines shown if there are no findings."""
    return [Line.of(("no findings", LABEL)), Line()]


def not_made_lines(
    not_made: Mapping[str, str], width: int, title: str = "No data for these checks"
) -> list[Line]:
    """Return the checks that did not run by title, those with the same reason together, and the
    reason beside them.
    """
    if not not_made:
        return []
    reasons: dict[str, list[str]] = {}
    for name, reason in not_made.items():
        reasons.setdefault(reason, []).append(BY_ID[name].title if name in BY_ID else name)
    said = {", ".join(names): reason for reason, names in reasons.items()}
    column = min(max(map(width_of, said)) + 2, width // 2)
    heads = [Line.of((fit("check", column), LABEL), ("reason", LABEL))]
    lines = [rule(title, str(len(not_made)), width), *heads]
    for names, reason in said.items():
        left = hanging([(names, TEXT)], column - 2)
        lines += beside(left, hanging([(reason, LABEL)], width - column), column)
    return [*lines, Line()]


def hanging(runs: Sequence[Run], width: int) -> list[Line]:
    """Return a text as lines; all but the first are indented."""
    first, *more = wrap(runs, width)
    text = [run for part in more for run in (*part, (" ", TEXT))]
    return [Line.of(*first), *labelled([("  ", TEXT)], text, width)] if more else [Line.of(*first)]

"""The first screen of a report, and the choice of steps to show in detail."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tui.judge.severity import by_weight
from tui.judge.wording import bottleneck_text, message_of
from tui.metrics import units
from tui.metrics.registry import METRICS, in_order, meaning
from tui.metrics.units import plural
from tui.model.record import RunRecord
from tui.model.step_record import StepRecord
from tui.record.cells import cells_of_record, measured_steps
from tui.record.headline import told_headline
from tui.record.host_facts import facts_together
from tui.record.matrix import of_which
from tui.text.facts import common_lines
from tui.text.line import BAD, GOOD, WARN
from tui.text.run_texts import run_text
from tui.text.search import caveats
from tui.view.document import Card, Facts
from tui.view.published import PublishedView
from tui.view.step_notes import (
    VERDICTS,
    checks_text,
    finding_place,
    repeated_text,
    step_label,
)
from tui.workloads.terms import JOB_LINE

IN_FULL = 4  # more steps are a matrix, whose tables have them all
MEMBERS = 6


def detailed_steps(record: RunRecord) -> list[StepRecord]:
    """Return the steps to show with charts and hosts: all measured ones if they are few.

    Otherwise the headline's step or, for a suite, the steps of the first members' headlines; if
    none of them was measured, the first measured step.
    """
    measured = measured_steps(record)
    if len(measured) <= IN_FULL:
        return measured
    cells = record.matrix.cells if record.matrix is not None else []
    headlines = (
        [record.headline] if record.headline is not None else [cell.headline for cell in cells]
    )
    wanted = [found.step for found in headlines if found is not None and found.step is not None]
    found = [step for step in measured if step.index in wanted[:MEMBERS]]
    return found or measured[:1]


def name_of(record: RunRecord, step: StepRecord) -> str:
    """Return the name of a step among several; empty for a single step."""
    if len(record.steps) == 1:
        return ""
    name = step.name.removeprefix(record.profile.tag).strip() or step.name
    return " ".join(part for part in (name, step_label(record, step)) if part)


def directions_of(step: StepRecord) -> list[str]:
    """Return the directions of a step to draw: without `mixed`, unless it is the only one."""
    found = in_order(step.results.aggregate)
    return [name for name in found if name != "mixed" or len(found) == 1]


NAMED_HOSTS = 6
WORST = 3
COMPARED = 3
ROLES = {"valid": GOOD, "valid-with-warnings": WARN, "invalid": BAD}
STATES = {"complete": GOOD, "failed": BAD, "aborted": BAD}


def is_edited_since(record: RunRecord, others: Iterable[RunRecord]) -> bool:
    """Return whether a later run has another text of the same profile and version."""
    own = record.profile
    if not own.sha256 or (own.text or "").startswith(JOB_LINE):
        return False
    later = [
        each.profile
        for each in others
        if record.created_utc and (each.created_utc or "") > record.created_utc
    ]
    return any(
        (each.tag, each.version) == (own.tag, own.version) and each.sha256 not in (None, own.sha256)
        for each in later
    )


def card_of(
    record: RunRecord,
    view: PublishedView | None,
    place: str,
    called: str = "",
    *,
    edited: bool = False,
) -> Card:
    """Return the summary card of a run.

    `place` is the id of the run's part, `called` the title that the user gave it. `edited`: the
    profile was edited after the run.
    """
    number, unit, what = headline_parts(record)
    verdict, role = judged(record)
    profile = record.profile
    version = f" v{profile.version}" if profile.version is not None else ""
    version += ", edited since" if edited else ""
    return Card(
        id=place,
        title=profile.title or profile.tag,
        subtitle=" · ".join(filter(None, (called, f"{profile.tag}{version}", record.run_id))),
        number=number,
        unit=unit,
        what=what,
        verdict=verdict,
        role=role,
        said=list(verdict_reasons(record)),
        facts=Facts([(name, texts) for name, texts in _facts(record, view) if texts]),
    )


def headline_parts(record: RunRecord) -> tuple[str, str, str]:
    """Return the headline's number, unit and name; for a suite, how much was measured."""
    found = record.headline
    if found is None:
        points = record.matrix.cells if record.matrix is not None else measured_steps(record)
        unit = "measurement" if len(points) == 1 else "measurements"
        return (
            str(len(points)),
            unit,
            "see the table for each figure" if points else "nothing was measured",
        )
    if record.search is not None:
        number, unit = METRICS[found.metric].split(found.value)
        return number, unit, told_headline(record)
    if found.value is None:
        return units.UNKNOWN, "", f"{meaning(found)} was not measured"
    few = found.behind is not None and found.behind < units.TAIL_SAMPLES
    number, unit = METRICS[found.metric].split(units.Few(found.value) if few else found.value)
    cells = cells_of_record(record)
    best = f", {of_which(cells, found.step, found.unit)}" if len(cells) > 1 else ""
    where = f" at {_point(record)}" if best and _point(record) else ""
    return number, unit, f"{meaning(found, record.requests_of(found.step))}{best}{where}"


def _point(record: RunRecord) -> str:
    step = record.headline.step if record.headline is not None else None
    cells = record.matrix.cells if record.matrix is not None else []
    found = next((cell for cell in cells if step in cell.steps), None)
    return (
        (found.key.removeprefix(record.profile.tag).strip() or found.key)
        if found is not None
        else ""
    )


def judged(record: RunRecord) -> tuple[str, str]:
    """Return the verdict in a few words, and its role."""
    if record.verdict is None and record.state == "running":
        return "still running, no verdict yet", WARN
    if record.verdict is None:
        return f"{record.state}, no verdict", STATES.get(record.state, WARN)
    said = (
        VERDICTS[record.verdict].capitalize()
        if record.verdict != "invalid"
        else VERDICTS[record.verdict]
    )
    role = WARN if record.verdict == "valid" and caveats(record.search) else ROLES[record.verdict]
    if record.state in ("complete", "imported", "baseline"):
        return said, role
    return f"{said}, {record.state}", BAD if role == BAD or record.state in STATES else WARN


def verdict_reasons(record: RunRecord) -> Iterator[str]:
    """Yield the reasons for the verdict: end of the run, checks, worst findings."""
    if record.state == "imported":
        yield (
            "imported: figures as the load generator printed them; checks without data did not run"
        )
    elif record.state == "running":
        yield f"{run_text(record.reason)}; figures so far"
    elif record.state != "complete" or record.reason:
        why = run_text(record.reason)
        yield f"{record.state}: {why}" if why else record.state
    checked = checks_text(record).removeprefix(VERDICTS.get(record.verdict or "", ""))
    yield from filter(None, (checked.removeprefix(", but ").lstrip(": "),))
    worst = [each for each in by_weight(record.findings) if each.severity != "info"]
    for each in worst[:WORST]:
        place = finding_place(record, each)
        yield f"{each.severity} {each.id}: {message_of(each)}{f' ({place})' if place else ''}"
    if len(worst) > WORST:
        yield f"and {plural(len(worst) - WORST, 'more finding')} below"


def _facts(record: RunRecord, view: PublishedView | None) -> Iterator[tuple[str, list[str]]]:
    yield "load", list(_load(record))
    yield "target", [record.target] if record.target else []
    yield "hosts", list(_hosts(record))
    yield "servers", [_names([each.name for each in record.servers])] if record.servers else []
    began = (record.created_utc or "start unknown").replace("T", " ")[:19]
    took = (
        f"{'so far' if record.state == 'running' else 'took'} {units.duration(record.duration_s)}"
    )
    yield "when", [f"{began}{' UTC' if record.created_utc else ''}, {took}"]
    bottlenecks = (step.bottleneck for step in detailed_steps(record))
    yield "limited by", [bottleneck_text(each) for each in bottlenecks if each is not None][:2]
    yield "repeated", list(filter(None, (repeated_text(record),)))
    yield "published", list(_published(view))


def _load(record: RunRecord) -> Iterator[str]:
    document = record.profile.source.get("document") or ""
    if document:
        yield f"from {' '.join(document.split())}"
    changed = record.profile.changed
    said = ", ".join(f"{name}={value}" for name, value in changed.items())
    yield f"changed: {said}" if changed else "all parameters as in the profile"
    if record.proves is not None:
        yield (
            f"counter-experiment: {record.proves.kind} as the bottleneck of {record.proves.run_id}"
        )


def _hosts(record: RunRecord) -> Iterator[str]:
    names = [host.name for host in record.hosts]
    yield f"{plural(len(names), 'host')}: {_names(names)}" if names else "unknown"
    for _, runs in list(common_lines(facts_together(record)))[:2]:
        yield "".join(text for text, _ in runs)


def _names(names: list[str]) -> str:
    if len(names) <= NAMED_HOSTS:
        return ", ".join(names)
    return f"{', '.join(names[:2])} … {names[-1]}"


def _published(view: PublishedView | None) -> Iterator[str]:
    """Yield the first figures next to published ones, then whether they can be compared."""
    if view is None:
        yield "no published results for this profile"
        return
    if not view.rows:
        yield view.title
    for row in view.rows[:COMPARED]:
        yield f"{row.figure} {row.ours}, published {row.theirs}: {row.change}"
    for note in view.badges[:1]:
        yield note.text

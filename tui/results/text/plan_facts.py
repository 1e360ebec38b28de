"""Every fact of a plan, once: `--dry-run` prints them, Review shows them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from tui.metrics import units
from tui.metrics.ranks import repetitions_needed
from tui.model.plain import some
from tui.model.plan import Plan, written_devices
from tui.model.proof import SAID
from tui.model.sharing import sharing_note
from tui.results.matrix.plan_sums import (
    added_text,
    after_text,
    changed_text,
    layout_bytes,
    precondition_texts,
    search_texts,
    targets_of,
    time_note,
    time_told,
    title_text,
    writes_at_all,
    written_bytes,
)

BIG_LAYOUT_BYTES = 100 * 2**30
ADDS = "adds"  # options of job files: Review shows this fact with the commands
CACHES = {"no": "left as they are", "try": "dropped where that is allowed", "require": "dropped, or the run ends"}


class PlanFact(Struct, frozen=True):
    """One fact: its label, what matters of it, `names` that may be cut to the room there is, what matters less."""

    label: str
    text: str
    more: str = ""
    names: tuple[str, ...] = ()


def plan_facts(plan: Plan) -> Iterator[PlanFact]:
    """Yield what a plan is about: what answers what, where, how long, how much."""
    profile = plan.profile
    title = title_text(profile.title, profile.changed, plan.target)
    yield PlanFact("profile", title, f"  {profile.tag} v{profile.version}")
    if profile.changed:
        yield PlanFact("changed", changed_text(profile.changed))
    count = f"{len(plan.hosts)}: " if len(plan.hosts) > 1 else ""
    yield PlanFact("hosts", count, names=tuple(host.name for host in plan.hosts))
    yield from (PlanFact("from", each.spec, f"  {len(each.hosts)} hosts at {each.utc}") for each in plan.sources)
    if plan.servers:
        yield PlanFact("servers", "", " (looked at, no load)", tuple(server.name for server in plan.servers))
    yield PlanFact("target", some(targets_of(plan)) or units.UNKNOWN)
    yield PlanFact("time", time_told(plan, time_text) or time_text(None), time_note(plan) if plan.expected_s else "")
    yield PlanFact("layout", *each_and_all(layout_bytes(plan), "nothing is laid out", "where missing"))
    yield PlanFact("writes", *each_and_all(written_bytes(plan), nothing_written(plan), "while it measures"))
    yield from (PlanFact(name, text) for name, text in search_texts(plan))
    yield from (PlanFact("prepares", text) for text in precondition_texts(plan))
    yield PlanFact("after", after_text(plan))
    yield PlanFact("caches", CACHES[plan.drop_caches])
    if text := compare_text(plan):
        yield PlanFact("compare", text)
    yield from (PlanFact("attested", each.answer, f"  {each.question} ({each.id})") for each in plan.attested)
    if plan.proves is not None:
        experiment = plan.proves.experiment
        yield PlanFact("proves", f"{plan.proves.kind} as the limiter of {plan.proves.run_id}, {plan.proves.limiter}")
        yield PlanFact("", f"predicted with {SAID[experiment.change]}: {experiment.prediction.text}")
    if added := added_text(plan):
        yield PlanFact(ADDS, added, "  (to the profile's options; see the job file)")


def warnings(plan: Plan) -> list[str]:
    """Return what somebody should have read before the run starts."""
    found: list[str] = []
    total = sum(layout_bytes(plan).values())
    if plan.allow_device and any(writes_at_all(step) for step in plan.steps):
        found.append(f"writes to {some(written_devices(plan) or targets_of(plan))}: what is there is lost")
    if total > BIG_LAYOUT_BYTES:
        found.append(f"lays out {units.size(total)} of test files in all before it measures")
    overwrites = any(writes_at_all(step) for step in plan.steps if any(task.files for task in step.tasks))
    if overwrites and not plan.allow_device:
        found.append(f"overwrites its test files in {plan.target or 'the target directory'}")
    if note := sharing_note(plan):
        found.append(note)
    if note := too_few_to_compare(plan):
        found.append(note)
    return [*found, *plan.remarks, *(f"left out: {left.text()}" for left in plan.left_out)]


def _points(plan: Plan) -> tuple[int, int]:
    """Return how many points a plan measures, and how often each of them at least."""
    times: dict[str, int] = {}
    for step in plan.steps:
        if not step.warmup:
            times[step.cell_key] = times.get(step.cell_key, 0) + 1
    planned = min(times.values(), default=0)
    return len(times), planned if plan.until is None else min(planned, plan.until.least)


def compare_text(plan: Plan) -> str:
    """Return how many repetitions `compare` needs of the points of a plan; empty for a search, which has its own."""
    points, planned = _points(plan)
    if plan.search is not None or plan.proves is not None or not points:
        return ""
    needed = repetitions_needed(points)
    of = f"{points} points need" if points > 1 else "1 point needs"
    return f"{of} {needed} repetitions on both sides; planned: {planned}"


def too_few_to_compare(plan: Plan) -> str:
    """Return that a plan repeats its points, and too seldom for `compare`; empty when not."""
    points, planned = _points(plan)
    if plan.search is not None or plan.proves is not None or planned < 2 or planned >= repetitions_needed(points):
        return ""
    each = "the point is" if points == 1 else f"each of {points} points is"
    return f"compare cannot decide: {each} measured {planned} times, {repetitions_needed(points)} are needed"


def nothing_written(plan: Plan) -> str:
    """Return what a measurement does that writes no bytes: a metadata benchmark makes files all the same."""
    made = sum(step.mpi.ranks(len(step.tasks)) * step.mpi.items for step in plan.steps[:1] if step.mpi is not None)
    return f"makes and removes {made} empty files" if made else "reads only"


def time_text(seconds: float | None) -> str:
    """Return how long something is planned to take."""
    return "as long as it takes" if seconds is None else units.duration(seconds)


def each_and_all(by_host: Mapping[str, int | None], none: str, when: str) -> tuple[str, str]:
    """Return bytes a host and in all: what matters, and what matters less."""
    values = list(by_host.values())
    if any(value is None for value in values):
        return "without a bound", f" {when}"
    known = [value or 0 for value in values]
    if not any(known):
        return none, ""
    low, high = min(known), max(known)
    each = units.size(high) if low == high else f"{units.size(low)} to {units.size(high)}"
    return (each, f" {when}") if len(known) == 1 else (f"{each} a host", f", {units.size(sum(known))} in all, {when}")

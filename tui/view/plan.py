"""A plan in words: everything that --dry-run and Review show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct

from tui import workloads
from tui.capacity.budget import AFTER_OVER_S, lead_s, points_planned
from tui.capacity.hold import HOLDS
from tui.judge.wording import worded
from tui.metrics import units
from tui.metrics.repeat import repetitions_needed
from tui.model.objects import objects_after, stores_of
from tui.model.plain import some, states_figure
from tui.model.plan import Plan, Step, is_device, written_devices
from tui.model.search import SAID
from tui.model.shared_files import sharing_note
from tui.record.cells import swept_texts
from tui.text.names import ranges_of
from tui.text.objects import count_text
from tui.view.plan_layout import (
    NOTHING_KNOWN,
    LayoutAhead,
    each_and_all,
    estimate_text,
    is_large,
    layout_bytes,
    layout_texts,
    pace_text,
    writing_s,
    writing_text,
)
from tui.workloads.terms import JOB_LINE

if TYPE_CHECKING:
    from tui.model.record import RunRecord

NONE: Mapping[str, str] = MappingProxyType({})
LONGEST_HOSTS = 48  # cells of host names in one line; more are only counted


def title_text(
    title: str, changed: Mapping[str, str], target: str | None, swept: Mapping[str, str] = NONE
) -> str:
    """Return the title of a profile, marked if changed parameters may contradict its figures.

    Words such as ``bs=4k`` get the changed or `swept` values. Only titles with other figures are
    marked; a changed `target` is ignored.
    """
    parts = [word.partition("=") for word in title.split(" ")]
    now = {**changed, **swept}
    said = [
        f"{name}={now[name]}" if is_set and name in now else f"{name}{is_set}{value}"
        for name, is_set, value in parts
    ]
    rest = " ".join(name for name, is_set, _ in parts if not is_set)
    names = {name for name, is_set, _ in parts if is_set}
    other = [name for name, value in changed.items() if value != target and name not in names]
    return f"{'modified: ' if other and states_figure(rest) else ''}{' '.join(said)}"


def planned_title(plan: Plan) -> str:
    """Return the title of a plan's profile, with the changed and swept values."""
    swept = swept_texts((step.cell, step.point) for step in plan.steps)
    return title_text(plan.profile.title, plan.profile.changed, plan.target, swept)


def recorded_title(record: RunRecord) -> str:
    """Return the title of a run's profile, with the changed and swept values."""
    cells = record.matrix.cells if record.matrix is not None else []
    swept = swept_texts((cell.key, cell.point) for cell in cells)
    return title_text(record.profile.title, record.profile.changed, record.target, swept)


def changed_text(changed: Mapping[str, str]) -> str:
    """Return the changed parameters: ``runtime=20s, size=16M``."""
    return ", ".join(f"{name}={value}" for name, value in changed.items())


def added_text(plan: Plan) -> str:
    """Return the names of options that benchtui adds to the profile's jobs; empty if none."""
    return ", ".join(dict.fromkeys(name for step in plan.steps for name in step.added_options))


def after_text(plan: Plan) -> str:
    """Return what happens to test files or objects after the run.

    An MPI program may remove its own files in its last phase.
    """
    if objects := plan.objects:
        if not any({"put", "delete"} & set(each.does) for each in objects):
            return "objects remain unchanged"
        kept = stores_of(objects_after(objects))
        left = (
            f"objects remain in {some(kept)}; benchtui does not remove them"
            if kept
            else "the last step deletes the objects"
        )
        return left if kept else f"{left}; an interrupted run leaves them"
    if not has_files(plan):
        return "no test files; data written to devices remains"
    own = [
        step.mpi is not None and (_removes(step) or step.mpi.bytes_per_op > 0)
        for step in plan.steps
    ]
    if own and all(own):
        return (
            "the test removes its own files; files left by an interrupted run"
            f" {'are removed' if plan.cleanup else 'remain'}"
        )
    others = "other test files" if any(own) else "test files"
    return f"{others} {'are removed' if plan.cleanup else 'remain'}"


def _removes(step: Step) -> bool:
    """Return whether a step's program removes its own files."""
    return any(name.rpartition("-")[2] in ("remove", "delete") for name in step.directions)


def has_files(plan: Plan) -> bool:
    """Return whether a plan may create files; on devices it does not."""
    tasks = [task for step in plan.steps for task in step.tasks]
    paths = [spec.path for task in tasks for spec in task.files]
    return not paths or not all(map(is_device, paths)) or any(task.directories for task in tasks)


def targets_of(plan: Plan) -> list[str]:
    """Return the devices and object stores of a plan, otherwise its target directory."""
    files = [spec.path for step in plan.steps for task in step.tasks for spec in task.files]
    devices = list(dict.fromkeys(path for path in files if is_device(path)))
    return [*stores_of(plan.objects), *devices] or _places(plan, plan.steps)


def _places(plan: Plan, steps: Iterable[Step]) -> list[str]:
    """Return the target directories of steps; empty if they are unknown."""
    return list(dict.fromkeys(place for step in steps if (place := step.target or plan.target)))


SOUGHT = {
    "capacity": "maximum {} within",
    "curve": "latency vs. load",
    "scaling": "{} by number of hosts",
}


def search_texts(plan: Plan) -> list[tuple[str, str]]:
    """Return name and text of each fact about a search: goal, values, cost.

    Empty for plans without a search.
    """
    search = plan.search
    if search is None:
        return []
    unit = "IOPS" if search.objective == "iops" else "bytes per second"
    wanted = " ".join(
        filter(
            None, (SOUGHT[search.kind].format(unit), ", ".join(each.text for each in search.limits))
        )
    )
    over = "; ".join(" ".join((knob.name, *map(str, knob.values))) for knob in search.over)
    shares = (
        f", {' '.join(map(units.share, search.shares))} of the maximum, in {search.order} order"
    )
    tail = f", over {over}" if search.kind != "curve" else shares
    spans = (
        [search.point_s]
        if search.kind == "scaling"
        else sorted({search.point_s, search.most_point_s})
    )
    leads = sorted({lead_s(search, span) for span in spans} - {0.0})
    each, before = (" to ".join(units.span(span) for span in some) for some in (spans, leads))
    each += f" each, after {before} of load" if leads else " each"
    within = (
        f", at most {units.span(search.within_s)} of load and pauses" if search.within_s else ""
    )
    count, most = points_planned(search), " at most" if search.kind == "capacity" else ""
    found = [("searches", wanted + tail), ("measures", f"{count} points{most}, {each}{within}")]
    if search.hold_s:
        again = f"if it fails, tried again at a lower load; at most {HOLDS} attempts"
        found.append(("holds", f"the capacity for {units.span(search.hold_s)}; {again}"))
    names = [job.name for job in plan.slots[0].jobs]
    if len(names) > 1 and search.kind != "scaling":
        found.append(
            (
                "shares",
                (
                    f"{', '.join(names)} split each offered rate in proportion to their rates at"
                    " full load"
                ),
            )
        )
    return found


def time_bounds(plan: Plan) -> tuple[float, float] | None:
    """Return the minimum and maximum seconds of load and pauses; None without a time limit.

    For a search, the minimum has the shortest points without repeats, the maximum has the longest
    points within the budget.
    """
    planned, search = plan.expected_s, plan.search
    if planned is None or search is None:
        return None if planned is None else (planned, planned)
    shortest = search.point_s + lead_s(search, search.point_s)
    most_s = max(search.most_point_s, search.point_s)
    longest = (
        shortest if search.kind == "scaling" else most_s + lead_s(search, most_s) + AFTER_OVER_S
    )
    may_spend = float("inf") if search.within_s is None else search.within_s
    besides = planned - sum(step.expected_s or 0.0 for step in plan.slots)
    holds = [search.hold_s + lead_s(search, search.hold_s)] if search.hold_s else []
    count, longer = points_planned(search), max(longest, *holds) if holds else longest
    least = besides + min((count - len(holds)) * shortest + sum(holds), may_spend)
    return least, besides + min(count * longer, may_spend)


def duration_text(plan: Plan, text: Callable[[float], str]) -> str:
    """Return how long a plan takes: ``20 min``, a search ``about 20 min to 1 h 2 min``.

    Empty without a time limit.
    """
    bounds = time_bounds(plan)
    if bounds is None:
        return ""
    least, most = map(text, bounds)
    return most if least == most else f"about {least} to {most}"


def has_fill(plan: Plan) -> bool:
    """Return whether a plan fills storage before it measures."""
    return any(step.is_fill for step in plan.steps)


def written_bytes(plan: Plan) -> dict[str, int | None]:
    """Return the most bytes that the measurement may write on each host; None: no limit.

    Overwritten and created bytes count; files that several steps write to count once.
    """
    written: dict[tuple[str, frozenset[str]], int | None] = {}
    for step in plan.steps:
        for task in step.tasks if writes_at_all(step) and not step.is_fill else ():
            key = (task.host, frozenset(spec.path for spec in task.written))
            before, writes = written.get(key, 0), task.writes_bytes
            written[key] = None if before is None or writes is None else max(before, writes)
    totals: dict[str, int | None] = {task.host: 0 for step in plan.steps for task in step.tasks}
    for (host, paths), each in written.items():
        known = totals[host]
        if any(other == host and paths < more for other, more in written):
            continue  # another step writes to these files and to more of them
        totals[host] = None if known is None or each is None else known + each
    return totals


def most_written(plan: Plan) -> int | None:
    """Return the most bytes that one host may write, before and during the load; None: no limit.

    Devices do not count: users confirm them by name. Files that the load overwrites count once.
    """
    before = layout_bytes(plan)
    during = {} if written_devices(plan) else written_bytes(plan)
    totals = [max(before[host], size) for host, size in during.items() if size is not None]
    return max([*totals, *before.values()]) if len(totals) == len(during) else None


def writes_at_all(step: Step) -> bool:
    """Return whether a step's load writes or trims, alone or mixed with reads."""
    return any(direction != "read" for direction in step.directions)


def precondition_texts(plan: Plan) -> list[str]:
    """Return how storage is preconditioned, and which preconditioning is left out."""
    found = [_fill_text(step) for step in plan.steps if step.is_fill]
    rounds = [step for step in plan.steps if step.precondition is not None and step.is_round]
    cells = list(dict.fromkeys(step.cell_key for step in rounds))
    if rounds and rounds[0].precondition is not None:
        rule, each = rounds[0].precondition, units.span(rounds[0].expected_s)
        where = f" before each of {len(cells)} points" if len(cells) > 1 else ""
        within, drift = units.share(rule.range), units.share(rule.slope)
        until = (
            f"until {rule.window} in a row have a range of at most {within} of their mean and a"
            f" drift of at most {drift}"
        )
        found.append(f"up to {rule.rounds} rounds of {each} of the profile's load{where}, {until}")
    left_out = "skipped at launch: the storage is measured in its current state"
    return [*found, *([left_out] if plan.no_precondition else [])]


def _fill_text(step: Step) -> str:
    """Return what a fill writes: number of passes, bytes on each host and in total."""
    times = step.precondition.times if step.precondition is not None else 1
    if objects := [each for task in step.tasks for each in task.objects]:
        return f"{step.profile or step.name}: before the measurement, writes {count_text(objects)}"
    sizes = [task.writes_bytes for task in step.tasks]
    known = [size for size in sizes if size is not None]
    files = {spec.path for task in step.tasks for spec in task.files}
    what = f"{step.profile}: " if step.profile else ""
    often = {1: "once", 2: "twice"}.get(times, f"{times} times")
    if len(known) < len(sizes):
        return f"{what}writes all of {', '.join(sorted(files)[:3])} {often}"
    each = f", up to {units.size(max(known))} per host" if len(known) > 1 else ""
    noun = "file" if len(files) == 1 else "files"
    return f"{what}writes all of its {noun} {often}: {units.size(sum(known))} in total{each}"


ADDS = "adds"  # options of job files: Review shows this fact with the commands
CACHES = {
    "no": "not dropped",
    "try": "dropped where permitted",
    "require": "dropped; a step fails if its caches cannot be dropped",
}


class PlanFact(Struct, frozen=True):
    """One fact of a plan: label, main text, and secondary text (`more`).

    `names` is a list that may be shortened to fit. `warns`: the user should notice it.
    """

    label: str
    text: str
    more: str = ""
    names: tuple[str, ...] = ()
    warns: bool = False


def plan_facts(plan: Plan, ahead: LayoutAhead = NOTHING_KNOWN) -> Iterator[PlanFact]:
    """Yield the facts of a plan: target, hosts, duration, bytes."""
    profile = plan.profile
    title = planned_title(plan)
    if profile.text.startswith(JOB_LINE):
        yield PlanFact("job", title)
    else:
        yield PlanFact("profile", title, f"  {profile.tag} v{profile.version}")
    if profile.changed:
        yield PlanFact("changed", changed_text(profile.changed))
    count = f"{len(plan.hosts)}: " if len(plan.hosts) > 1 else ""
    hosts = tuple(host.name for host in plan.hosts)
    if len(ranges := ranges_of(hosts)) < len(", ".join(hosts)):
        yield PlanFact("hosts", count + ranges)
    else:
        yield PlanFact("hosts", count, names=hosts)
    yield from (
        PlanFact("role", f"{role}: ", names=tuple(names))
        for role, names in hosts_by_role(plan).items()
    )
    yield from (
        PlanFact("from", each.spec, f"  {units.plural(len(each.hosts), 'host')} at {each.utc}")
        for each in plan.sources
    )
    if plan.servers:
        yield PlanFact(
            "servers", "", " (monitored, no load)", tuple(server.name for server in plan.servers)
        )
    yield PlanFact("target", some(targets_of(plan)) or units.UNKNOWN)
    yield from time_facts(plan, ahead)
    yield PlanFact("layout", *layout_texts(plan, ahead), warns=is_large(plan, ahead))
    yield load_fact(plan, ahead)
    yield from (PlanFact(name, text) for name, text in search_texts(plan))
    yield from (PlanFact("prepares", text) for text in precondition_texts(plan))
    yield PlanFact("after", after_text(plan))
    yield PlanFact("caches", caches_text(plan))
    if texts := compare_texts(plan):
        yield PlanFact("repeats", texts[0], "".join(texts[1:]))
    yield from (
        PlanFact("attested", each.answer, f"  {each.question} ({each.id})")
        for each in plan.attested
    )
    if plan.proves is not None:
        experiment = plan.proves.experiment
        yield PlanFact(
            "proves",
            f"{plan.proves.kind} as the bottleneck of {plan.proves.run_id},"
            f" {worded(plan.proves.bottleneck)}",
        )
        yield PlanFact(
            "", f"predicted with {SAID[experiment.change]}: {experiment.prediction.text}"
        )
    for each in plan.carried:
        yield PlanFact(
            "copies",
            f"{each.name} for {each.machine}",
            f"  {units.size(each.bytes)} from {each.path}",
        )
    if added := added_text(plan):
        yield PlanFact(ADDS, added, "  to the options of the job")


def plan_line(plan: Plan) -> str:
    """Return load, hosts, time and bytes of a plan in one line."""
    title = planned_title(plan)
    names = ranges_of([host.name for host in plan.hosts])
    count = units.plural(len(plan.hosts), "host")
    hosts = names if len(plan.hosts) == 1 else f"{count} ({names})"
    where = hosts if len(hosts) <= LONGEST_HOSTS else count
    load = load_fact(plan, NOTHING_KNOWN)
    does = load.text if load.label == "load" else f"{load.label} {load.text}{load.more}"
    return f"{title}; on {where}; {load_and_writing(plan)}; {does}"


def load_fact(plan: Plan, ahead: LayoutAhead) -> PlanFact:
    """Return what the load does to data: that it only reads, or how much it writes."""
    if not any(writes_at_all(step) for step in plan.steps if not step.is_fill):
        return PlanFact("load", "reads only")
    texts = each_and_all(
        written_bytes(plan),
        nothing_written(plan),
        "during the measurement",
        per_host=ahead.per_host,
    )
    return PlanFact("writes", *texts)


def time_facts(plan: Plan, ahead: LayoutAhead) -> Iterator[PlanFact]:
    """Yield how long a plan takes, in all if known, and how long it writes before the load."""
    writing, pace = writing_text(plan, ahead), pace_text(plan, ahead)
    if total := total_text(plan, ahead):
        seconds = estimate_text(writing_s(plan, ahead) or 0.0)
        load = f"{duration_text(plan, time_text)}{ramp_text(plan)}"
        yield PlanFact("time", f"{total} in all", f"  load {load}")
        yield PlanFact("", "", f"writing {seconds} {pace}")
        return
    more = ", plus fill" if has_fill(plan) else ""
    more = more if writing or not plan.expected_s else f" of load{more}"
    more += ramp_text(plan)
    yield PlanFact("time", load_and_writing(plan, ahead), more + (f"  {pace}" if pace else ""))


def ramp_text(plan: Plan) -> str:
    """Return how much of the load is ramp, which is not measured; empty if there is no ramp."""
    ramps = [step.ramp_s for step in plan.steps if not step.is_fill]
    whole = sum(ramps)
    if not whole or plan.search is not None:
        return ""
    each = " per step" if len(ramps) > 1 and len(set(ramps)) == 1 else ""
    return f"; {time_text(ramps[0] if each else whole)} ramp{each} included"


def total_text(plan: Plan, ahead: LayoutAhead) -> str:
    """Return how long writing and load take together: ``about 21 min``.

    Empty if the time of either is unknown, or writing takes under 10 s.
    """
    bounds, seconds = time_bounds(plan), writing_s(plan, ahead)
    if bounds is None or seconds is None or has_fill(plan):
        return ""
    least, most = (estimate_text(bound + seconds) for bound in bounds)
    return f"about {least}" if least == most else f"about {least} to {most}"


def load_and_writing(plan: Plan, ahead: LayoutAhead = NOTHING_KNOWN) -> str:
    """Return how long a plan takes, and how much it writes before the load: ``5 min + writing 6
    TiB``.
    """
    load = duration_text(plan, time_text) or time_text(None)
    return " + ".join(filter(None, (load, writing_text(plan, ahead))))


def takes_text(plan: Plan, ahead: LayoutAhead) -> str:
    """Return how long a plan takes, in one line: in all, or with the bytes that it writes first."""
    if not (total := total_text(plan, ahead)):
        return load_and_writing(plan, ahead)
    return f"{total} in all, {writing_text(plan, ahead)} first"


def caches_text(plan: Plan) -> str:
    """Return when page caches are dropped; by profile if the members of a suite differ."""
    profiles: dict[str, list[str]] = {}
    for step in plan.steps:
        if step.precondition is None:
            names = profiles.setdefault(CACHES[plan.drop_caches_before(step)], [])
            names += [] if step.profile in names else [step.profile]
    if len(profiles) < 2:
        return next(iter(profiles), CACHES[plan.drop_caches])
    return "; ".join(f"{text}: {some(names)}" for text, names in profiles.items())


def hosts_by_role(plan: Plan) -> dict[str, list[str]]:
    """Return the hosts of each role of a suite, in the order of the plan."""
    known = {step.role: step.hosts for step in plan.steps}
    return {role: known[role] for role in plan.roles if role in known}


def warnings(plan: Plan) -> list[str]:
    """Return what users should read before the run starts."""
    found: list[str] = []
    if plan.allow_device and any(writes_at_all(step) for step in plan.steps):
        found.append(
            f"writes to {some(written_devices(plan) or targets_of(plan))}: existing data will"
            " be lost"
        )
    overwriting = [
        step
        for step in plan.steps
        if writes_at_all(step) and any(task.files for task in step.tasks)
    ]
    changed = dict.fromkeys(
        store for step in plan.steps for task in step.tasks for store in task.stores_changed
    )
    found += [f"overwrites or deletes objects in {store}" for store in changed]
    if overwriting and not plan.allow_device:
        places = some(_places(plan, overwriting)) or "the target directory"
        found.append(f"overwrites its test files in {places}")
    if note := sharing_note(plan):
        found.append(note)
    return [*found, *caveats_of(plan), *(f"left out: {left.text()}" for left in plan.left_out)]


def caveats_of(plan: Plan) -> list[str]:
    """Return the caveats about a plan before it runs, as texts."""
    return [workloads.caveat_text(each) for each in plan.caveats]


def _points(plan: Plan) -> tuple[int, int]:
    """Return the number of points of a plan, and the fewest repetitions of a point."""
    times: dict[str, int] = {}
    for step in plan.steps:
        if not step.warmup:
            times[step.cell_key] = times.get(step.cell_key, 0) + 1
    planned = min(times.values(), default=0)
    return len(times), planned if plan.until is None else min(planned, plan.until.least)


def compare_texts(plan: Plan) -> tuple[str, ...]:
    """Return the repetitions of each point, and how many runs `compare` needs.

    Empty for a search or a counter-experiment, which have their own criteria.
    """
    points, planned = _points(plan)
    if plan.search is not None or plan.proves is not None or not points:
        return ()
    what = "compare" if points == 1 else f"comparing {points} points"
    return str(planned), f"  ({what} needs {repetitions_needed(points)})"


def nothing_written(plan: Plan) -> str:
    """Describe what a measurement that writes no data changes: objects deleted, empty files created
    or directories, or nothing.
    """
    sets = [each for step in plan.steps for task in step.tasks for each in task.objects]
    if deleted := sum(each.count for each in sets if "delete" in each.does):
        return f"deletes {units.plural(deleted, 'object')}"
    launches = [
        (step.mpi, len(step.tasks))
        for step in plan.steps[:1]
        if step.mpi and not step.mpi.bytes_per_op
    ]
    made = sum(launch.ranks(hosts) * launch.items for launch, hosts in launches)
    if not made:
        return "nothing during the measurement"
    times = max(launch.iterations for launch, _ in launches)
    each = f" in each of {times} iterations" if times > 1 else ""
    return f"creates {units.count(made)} empty files or directories{each}"


def time_text(seconds: float | None) -> str:
    """Return a planned time; ``no time limit`` without one."""
    return "no time limit" if seconds is None else units.span(seconds)

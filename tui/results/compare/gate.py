"""What is not the same in two sets of runs, and whether their figures may be held against each other. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from tui.metrics.fact_groups import compare as compare_facts
from tui.metrics.fact_groups import leaf_text
from tui.model.record import RunRecord
from tui.model.step_record import StepRecord
from tui.results.baselines.compare import (
    clients_of,
    is_place,
    kinds_of,
    major,
    profile_data,
    tool_versions,
    written,
)
from tui.results.compare.measured import Point, PointKey

NAMED = 4
WHOLE = ("complete", "imported")


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that is not the same. `blocks`: the figures may not be compared; `matters`: they may differ by it."""

    what: str
    a: str
    b: str
    blocks: bool = False
    matters: bool = True

    @property
    def text(self) -> str:
        """For people: ``numjobs: A 1, B 4``."""
        said = ", ".join(f"{side} {value}" for side, value in (("A", self.a), ("B", self.b)) if value)
        return f"{self.what}: {said}" if said else self.what


Side = Sequence[RunRecord]


def differences(a: Side, b: Side, across: Collection[str] = (), *, searches: bool = False) -> list[Difference]:
    """Return what is not the same in two sides; parameters in `across` are meant to differ, points of `searches` do."""
    found = [
        *_of_profiles(a, b),
        *([] if searches else _of_points(a, b, across)),
        *_of_states(a, b),
        *_of_setups(a, b),
        *_of_facts(a, b),
    ]
    return sorted(dict.fromkeys(found), key=lambda each: (not each.blocks, not each.matters))


def points_missing(a: dict[PointKey, Point], b: dict[PointKey, Point]) -> list[Difference]:
    """Return the points that one side alone measured; when there is no other, nothing can be compared."""
    alone = [[point.name or "the only point" for key, point in one.items() if key not in other]
             for one, other in ((a, b), (b, a))]  # fmt: skip
    if not any(alone):
        return []
    return [Difference("points of one side alone", _few(alone[0]), _few(alone[1]), blocks=not a.keys() & b.keys())]


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def _differs(
    what: str, a: Side, b: Side, of: Callable[[RunRecord], object], *, blocks: bool = False, matters: bool = True
) -> Iterator[Difference]:
    """Yield a difference when the sides have not the same set of values; a side may hold several."""
    said = [_few(sorted({str(value) for record in side if (value := of(record)) not in (None, "")})) for side in (a, b)]
    if said[0] != said[1] and all(said):
        yield Difference(what, said[0], said[1], blocks, matters)


def _of_profiles(a: Side, b: Side) -> Iterator[Difference]:
    yield from _differs("profile", a, b, lambda run: run.profile.tag, blocks=True)
    if {run.profile.tag for run in a} == {run.profile.tag for run in b}:
        yield from _differs("version of the profile", a, b, lambda run: run.profile.version, blocks=True)
        yield from _differs("text of the profile", a, b, lambda run: (run.profile.sha256 or "")[:12], matters=False)
    yield from _differs("latency counted", a, b, lambda run: run.latency_kind, blocks=True)
    yield from _differs("preconditioning left out", a, b, _precondition_left_out, blocks=True)
    yield from _differs("attested", a, b, lambda run: ", ".join(f"{each.id}={each.answer}" for each in run.attested))


def _precondition_left_out(record: RunRecord) -> str:
    return "" if record.precondition is None else "yes" if record.precondition.left_out else "no"


def _of_points(a: Side, b: Side, across: Collection[str]) -> Iterator[Difference]:
    """Yield parameters that differ in the same point. What is swept is the point's own."""
    theirs = {_place(step): (record, step) for record in b for step in _measured(record)}
    for record in a:
        for step in _measured(record):
            if _place(step) in theirs:
                yield from _of_params((record, step), theirs[_place(step)], across)


def _measured(record: RunRecord) -> list[StepRecord]:
    return [step for step in record.steps if not step.warmup]


def _place(step: StepRecord) -> tuple[str, str]:
    return step.profile or "", repr(sorted(step.point.items()))


def _of_params(
    ours: tuple[RunRecord, StepRecord], theirs: tuple[RunRecord, StepRecord], across: Collection[str]
) -> Iterator[Difference]:
    (record, step), (other, their_step) = ours, theirs
    kinds = kinds_of(profile_data(record)) if step.params != their_step.params else {}
    for name in sorted(step.params.keys() | their_step.params.keys()):
        one, two = step.params.get(name), their_step.params.get(name)
        if one != two:
            said = [written(value, kinds.get(name, "")) if value is not None else "none" for value in (one, two)]
            place = is_place(name, str(one)) or is_place(name, str(two))
            yield Difference(name, said[0], said[1], blocks=not place and name not in across, matters=not place)
    hosts = clients_of(record, step), clients_of(other, their_step)
    if hosts[0] != hosts[1] and "hosts" not in across:
        yield Difference("number of clients", str(hosts[0]), str(hosts[1]), blocks=True)
    versions = tool_versions(record, step), tool_versions(other, their_step)
    if versions[0] != versions[1] and all(versions):
        blocks = {major(each) for each in versions[0]} != {major(each) for each in versions[1]}
        said = [", ".join(each) for each in versions]
        yield Difference(f"version of {step.tool or 'the tool'}", said[0], said[1], blocks=blocks)


def _of_states(a: Side, b: Side) -> Iterator[Difference]:
    """Yield runs that are not whole or not valid: their figures are no evidence."""
    for side, records in (("A", a), ("B", b)):
        for record in records:
            if record.state not in WHOLE:
                yield Difference(f"{side} {record.run_id} is {record.state}", "", "", blocks=True)
            if record.verdict == "invalid":
                ids = dict.fromkeys(each.id for each in record.findings if each.severity == "error")
                yield Difference(f"{side} {record.run_id} is invalid ({', '.join(ids)})", "", "", blocks=True)
    yield from _differs("warnings", a, b, _warnings)


def _warnings(record: RunRecord) -> str:
    return ", ".join(sorted({each.id for each in record.findings if each.severity == "warning"})) or "none"


def _of_setups(a: Side, b: Side) -> Iterator[Difference]:
    yield from _differs("target", a, b, lambda run: run.target, matters=False)
    yield from _differs("hosts", a, b, lambda run: ", ".join(sorted(host.name for host in run.hosts)), matters=False)
    yield from _differs("version of benchtui", a, b, lambda run: run.provenance.benchtui_version, matters=False)


def _of_facts(a: Side, b: Side) -> Iterator[Difference]:
    """Yield what the hosts of one side are known to be and those of the other are not."""
    facts = {f"{side}\t{run.run_id}\t{host.name}": host.facts
             for side, records in (("A", a), ("B", b)) for run in records for host in run.hosts}  # fmt: skip
    for each in compare_facts(facts).differing:
        values: dict[str, set[str]] = {"A": set(), "B": set()}
        for group in each.known:
            for host in group.hosts:
                values[host[0]].add(leaf_text(each.name, group.value))
        if all(values.values()) and values["A"] != values["B"]:
            yield Difference(each.title, _few(sorted(values["A"])), _few(sorted(values["B"])), matters=each.matters)

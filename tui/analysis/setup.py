"""What runs have in common and what differs: parameters, load, hosts, tool.

Whether they are comparable.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from math import log2
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct, field

from tui.analysis.measured import ComparedPoint, PointKey, PointRepetition, was_measured
from tui.analysis.published import (
    bare_version,
    clients_of,
    is_place,
    kinds_of,
    major,
    profile_data,
    tool_versions,
    written,
)
from tui.metrics.facts import compare as compare_facts
from tui.metrics.facts import leaf_text
from tui.model.bounded import NO_JSON, read_file
from tui.model.plain_data import MultiLine, PlainDecoder
from tui.model.problem import UsageError
from tui.model.quantities import plain_size
from tui.model.record import RunRecord
from tui.model.rundir import RECORD_FILE
from tui.model.step_record import Scalar
from tui.model.yaml_text import load

if TYPE_CHECKING:
    from tui.model.step_record import StepRecord

NOT_OF_THE_LOAD = frozenset(
    ("profile", "version", "title", "description", "source", "extends", "params", "suite", "sweep",
        "repeat",
     "capacity", "curve", "pause", "attest", "findings", "thresholds", "on_host_loss",
     "allow_device", "hosts",
     "deviations")
)  # fmt: skip
"""Keys of a profile that leave a point's load as it is, or stand in the record themselves."""
PROFILE_TEXT, HOSTS, MEASUREMENT = "text of the profile", "hosts", "measurement"
LONG = 40


class PointSetup(Struct, frozen=True):
    """How a point was measured, as what and value; empty: not known."""

    parts: tuple[tuple[str, str], ...] = ()

    def differs(self, shown: PointSetup) -> str:
        """Return for people what is not as in another one: ``bs 64k, here 4k.

        Hosts h2, here h1``.
        """
        if not self.parts or not shown.parts:
            return (
                "not known how it was measured"
                if not self.parts
                else "known how it was measured, here not"
            )
        ours, theirs = dict(self.parts), dict(shown.parts)
        names = [name for name in {**theirs, **ours} if ours.get(name) != theirs.get(name)]
        return "; ".join(
            _other(name, ours.get(name, "none"), theirs.get(name, "none")) for name in names
        )


def _other(name: str, ours: str, shown: str) -> str:
    if name == PROFILE_TEXT:
        return "another text of the profile"
    if max(len(ours), len(shown)) <= LONG:
        return f"{name} {ours}, here {shown}"
    counts = [len(each.split(", ")) for each in (ours, shown)]
    return f"{counts[0]} {name}, here {counts[1]}" if counts[0] != counts[1] else f"other {name}"


UNKNOWN = PointSetup()


class PointHeadline(Struct, frozen=True):
    """The headline of a point, as `run.json` has it."""

    value: float | None = None
    unit: str = ""
    text: str = ""


class PointMeasurement(Struct, frozen=True):
    """A point of a run, how it was measured, and its headline; None: it is the run's own."""

    point: str = ""
    setup: PointSetup = UNKNOWN
    headline: PointHeadline | None = None


# -- the part of run.json that tells it; the rest is skipped unparsed


class _Cell(Struct):
    key: str = ""
    steps: list[int] = field(default_factory=list)
    headline: PointHeadline | None = None


class _Matrix(Struct):
    cells: list[_Cell] = field(default_factory=list)


class _Total(Struct):
    ios: int | None = None
    bytes: int | None = None


class _Results(Struct):
    aggregate: dict[str, _Total] = field(default_factory=dict)


class _MetadataVersion(Struct):
    version: str | None = None


class _StepSetup(Struct):
    name: str = ""
    tool: str | None = None
    params: dict[str, Scalar] = field(default_factory=dict)
    point: dict[str, Scalar] = field(default_factory=dict)
    profile: str | None = None
    warmup: bool = False
    in_flight: int | None = None
    latency_kind: str | None = None
    results: _Results = field(default_factory=_Results)
    metadata: _MetadataVersion | None = None


class _Text(Struct):
    tag: str = ""
    version: int | None = None
    text: MultiLine | None = None


class _ProfileSetup(_Text):
    params: dict[str, Scalar] = field(default_factory=dict)
    bases: list[MultiLine] = field(default_factory=list)
    members: list[_Text] = field(default_factory=list)


class _HostName(Struct):
    name: str = ""


class _Limit(Struct):
    text: str = ""


class _Search(Struct):
    kind: str = ""
    limits: list[_Limit] = field(default_factory=list)
    over: list[str] = field(default_factory=list)


class _ProvenanceTools(Struct):
    tool_versions: dict[str, str] = field(default_factory=dict)


class _Precondition(Struct):
    left_out: bool = False


class Head(Struct):
    """What a record says of how it was measured."""

    profile: _ProfileSetup = field(default_factory=_ProfileSetup)
    target: str | None = None
    state: str = ""
    latency_kind: str = ""
    hosts: list[_HostName] = field(default_factory=list)
    steps: list[_StepSetup] = field(default_factory=list)
    matrix: _Matrix | None = None
    search: _Search | None = None
    proves: dict[str, Any] | None = None
    precondition: _Precondition | None = None
    provenance: _ProvenanceTools = field(default_factory=_ProvenanceTools)


_heads = PlainDecoder(Head)


def head_at(run_dir: Path) -> Head | None:
    """Return what the record in a run directory says.

    None when there is none, or it cannot be read.
    """
    with suppress(OSError, *NO_JSON):
        return _heads.decode(read_file(run_dir / RECORD_FILE))
    return None


def head_of(record: RunRecord) -> Head:
    """Return the same of a record in memory, such as that of a run that goes on."""
    steps = {"__all__": set(_StepSetup.__struct_fields__) - {"results"}}
    wanted: dict[str, Any] = {**dict.fromkeys(Head.__struct_fields__, True), "steps": steps}
    return msgspec.convert(record.model_dump(mode="json", include=wanted), Head)


def measured_at(run_dir: Path) -> list[PointMeasurement]:
    """Return the points of the run in a directory.

    One of which nothing is known when its record cannot be read.
    """
    head = head_at(run_dir)
    return [PointMeasurement()] if head is None else measured(head)


def measured(head: Head) -> list[PointMeasurement]:
    """Return each point of a sweep or a suite, else the run as one.

    A counter-experiment has no place in a history.
    """
    if head.proves is not None:
        return []
    cells = head.matrix.cells if head.matrix is not None and head.search is None else []
    if len(cells) < 2:
        counted = [step for step in head.steps if not step.warmup]
        return [
            PointMeasurement(
                "", _setup(head, counted[0] if counted else _StepSetup(params=head.profile.params))
            )
        ]
    return [
        PointMeasurement(
            each.key, _setup(head, _step_of(head, each)), each.headline or PointHeadline()
        )
        for each in cells
    ]


def _step_of(head: Head, cell: _Cell) -> _StepSetup:
    known = [head.steps[at] for at in cell.steps if at < len(head.steps)]
    return known[0] if known else _StepSetup()


def _setup(head: Head, step: _StepSetup) -> PointSetup:
    return PointSetup(tuple((name, value) for name, value in _parts(head, step) if value))


def _parts(head: Head, step: _StepSetup) -> Iterator[tuple[str, str]]:
    """Yield what must be the same. Swept values name the point already."""
    texts: list[_Text] = [member for member in head.profile.members if member.tag == step.profile]
    profile = texts[0] if texts else head.profile
    yield "version of the profile", str(profile.version or "")
    data = [_read(text) for text in filter(None, (*reversed(head.profile.bases), profile.text))]
    kinds = {name: kind for _, each in data for name, kind in each.items()}
    params = step.params if head.search is None else head.profile.params
    for name, value in sorted(params.items()):
        if value is not None and name not in step.point and not is_place(name, str(value)):
            yield name, written(value, kinds.get(name, ""))
    yield from _of_search(head.search) if head.search is not None else ()
    yield from imported_parts(step) if head.state == "imported" else ()
    yield HOSTS, ", ".join(sorted(host.name for host in head.hosts))
    yield "tool", _tool(head, step)
    yield "latency counted", step.latency_kind or head.latency_kind
    yield (
        "preconditioning left out",
        "yes" if head.precondition is not None and head.precondition.left_out else "",
    )
    yield PROFILE_TEXT, " ".join(digest for digest, _ in data)


def _of_search(search: _Search) -> Iterator[tuple[str, str]]:
    yield "search", search.kind
    yield "limits", ", ".join(limit.text for limit in search.limits)
    yield "searched over", ", ".join(search.over)


def imported_parts(step: _StepSetup | StepRecord) -> Iterator[tuple[str, str]]:
    """Yield what a run that was made elsewhere is known by, it has no parameters.

    Empty: not known.
    """
    yield MEASUREMENT, step.name
    yield "I/Os in flight", str(step.in_flight or "")
    totals: dict[str, Any] = {**step.results.aggregate}
    for name, total in sorted(totals.items()):
        if total.ios and total.bytes:
            yield f"{name} size", plain_size(1 << round(log2(total.bytes / total.ios)))


def _tool(head: Head, step: _StepSetup) -> str:
    told = (
        [step.metadata.version]
        if step.metadata is not None
        else [*head.provenance.tool_versions.values()]
    )
    versions = sorted({major(bare_version(each)) for each in told if each})
    return " ".join(filter(None, (step.tool or "", ", ".join(versions))))


@cache
def _read(text: str) -> tuple[str, Mapping[str, str]]:
    """Return a digest of what a profile's YAML says of the load, and what kind of value each
    parameter has.
    """
    try:
        data = load(text, "").data
    except UsageError:
        return sha256(text.encode()).hexdigest()[:12], {}
    said = {name: value for name, value in data.items() if name not in NOT_OF_THE_LOAD}
    digest = sha256(msgspec.json.encode(said, order="sorted")).hexdigest()[:12] if said else ""
    return digest, kinds_of(data)


NAMED = 4
WHOLE = ("complete", "imported")


@dataclass(frozen=True, slots=True)
class SetupDifference:
    """Something that is not the same.

    `blocks`: the figures may not be compared; `matters`: they may differ by it.
    """

    what: str
    a: str
    b: str
    blocks: bool = False
    matters: bool = True

    @property
    def text(self) -> str:
        """For people: ``numjobs: A 1, B 4``."""
        said = ", ".join(
            f"{side} {value}" for side, value in (("A", self.a), ("B", self.b)) if value
        )
        return f"{self.what}: {said}" if said else self.what


Side = Sequence[RunRecord]
Attempts = Sequence[PointRepetition]


def differences(
    a: Side, b: Side, across: Collection[str] = (), *, searches: bool = False
) -> list[SetupDifference]:
    """Return what is not the same in two sides; parameters in `across` are meant to differ, points
    of `searches` do.

    Every run counts: one that is not like the others of its side is no repetition of them.
    """
    found = [
        *_of_profiles(a, b),
        *(_of_searches(a, b, across) if searches else _of_points(a, b, across)),
        *_of_states(a, b),
        *_of_setups(a, b),
        *_of_facts(a, b),
    ]
    return sorted(dict.fromkeys(found), key=lambda each: (not each.blocks, not each.matters))


def points_missing(
    a: dict[PointKey, ComparedPoint], b: dict[PointKey, ComparedPoint]
) -> list[SetupDifference]:
    """Return the points that one side alone measured.

    When there is no other, nothing can be compared.
    """
    alone = [[point.name or "the only point" for key, point in one.items() if key not in other]
             for one, other in ((a, b), (b, a))]  # fmt: skip
    if not any(alone):
        return []
    return [
        SetupDifference(
            "points of one side alone",
            _few(alone[0]),
            _few(alone[1]),
            blocks=not a.keys() & b.keys(),
        )
    ]


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def _differs(
    what: str,
    a: Side,
    b: Side,
    of: Callable[[RunRecord], object],
    *,
    blocks: bool = False,
    matters: bool = True,
) -> Iterator[SetupDifference]:
    """Yield a difference when the sides have not the same set of values.

    A side may hold several where none blocks.
    """
    known = [
        sorted({str(value) for record in side if (value := of(record)) not in (None, "")})
        for side in (a, b)
    ]
    mixed = blocks and max(map(len, known)) > 1
    if all(known) and (known[0] != known[1] or mixed):
        yield SetupDifference(what, _few(known[0]), _few(known[1]), blocks, matters)


def _of_profiles(a: Side, b: Side) -> Iterator[SetupDifference]:
    yield from _differs("profile", a, b, lambda run: run.profile.tag, blocks=True)
    if {run.profile.tag for run in a} == {run.profile.tag for run in b}:
        yield from _differs(
            "version of the profile", a, b, lambda run: run.profile.version, blocks=True
        )
        yield from _differs(
            "text of the profile", a, b, lambda run: (run.profile.sha256 or "")[:12], matters=False
        )
    yield from _differs("latency counted", a, b, lambda run: run.latency_kind, blocks=True)
    yield from _differs("preconditioning left out", a, b, _precondition_left_out, blocks=True)
    yield from _differs(
        "attested", a, b, lambda run: ", ".join(f"{each.id}={each.answer}" for each in run.attested)
    )


def _precondition_left_out(record: RunRecord) -> str:
    return "" if record.precondition is None else "yes" if record.precondition.left_out else "no"


def _of_points(a: Side, b: Side, across: Collection[str]) -> Iterator[SetupDifference]:
    """Yield what differs in the same point, between the sides or within one.

    What is swept is the point's own.
    """
    ours, theirs = _by_place(a), _by_place(b)
    for place in [each for each in ours if each in theirs]:
        yield from _of_attempts(ours[place], theirs[place], across)
        if any(record.state == "imported" for record in (*a, *b)):
            yield from _of_loads(ours[place], theirs[place])


def _of_searches(a: Side, b: Side, across: Collection[str]) -> Iterator[SetupDifference]:
    """Yield what differs in what two sides searched with; their points differ."""
    over = {name for record in (*a, *b) if record.search is not None for name in record.search.over}
    yield from _of_attempts([*_searched(a, over)], [*_searched(b, over)], over.union(across))


def _searched(side: Side, over: Collection[str]) -> Iterator[PointRepetition]:
    for record in side:
        params = {name: value for name, value in record.profile.params.items() if name not in over}
        for step in [each for each in record.steps if was_measured(each)][:1]:
            yield PointRepetition(record, step.model_copy(update={"params": params}))


def _of_attempts(
    ours: Attempts, theirs: Attempts, across: Collection[str]
) -> Iterator[SetupDifference]:
    if ours and theirs:
        yield from _of_params(ours, theirs, across)
        yield from _of_clients(ours, theirs, across)
        yield from _of_tools(ours, theirs)


def _by_place(side: Side) -> dict[tuple[str, str], list[PointRepetition]]:
    found: dict[tuple[str, str], list[PointRepetition]] = {}
    for record in side:
        for step in record.steps:
            if not step.warmup and was_measured(step):
                place = step.part, repr(sorted(step.point.items()))
                found.setdefault(place, []).append(PointRepetition(record, step))
    return found


def _of_params(
    ours: Attempts, theirs: Attempts, across: Collection[str]
) -> Iterator[SetupDifference]:
    names = sorted({name for each in (*ours, *theirs) for name in each.step.params})
    values = {
        name: [{each.step.params.get(name) for each in side} for side in (ours, theirs)]
        for name in names
    }
    differing = [name for name in names if len(values[name][0] | values[name][1]) > 1]
    kinds = kinds_of(profile_data(ours[0].record)) if differing else {}
    for name in differing:
        place = any(is_place(name, str(value)) for side in values[name] for value in side)
        said = [[written(value, kinds.get(name,
            "")) if value is not None else "none" for value in side]
                for side in values[name]]  # fmt: skip
        yield _difference(name, *said, blocks=not place, matters=not place, meant=name in across)


def _of_clients(
    ours: Attempts, theirs: Attempts, across: Collection[str]
) -> Iterator[SetupDifference]:
    counts = [{str(clients_of(each.record, each.step)) for each in side} for side in (ours, theirs)]
    if len(counts[0] | counts[1]) > 1 and not (max(map(len, counts)) == 1 and "hosts" in across):
        yield _difference("number of clients", *counts, blocks=True)


def _of_tools(ours: Attempts, theirs: Attempts) -> Iterator[SetupDifference]:
    known = [
        [found for each in side if (found := tool_versions(each.record, each.step))]
        for side in (ours, theirs)
    ]
    said = [{", ".join(each) for each in side} for side in known]
    if all(said) and len(said[0] | said[1]) > 1:
        majors = {frozenset(map(major, each)) for side in known for each in side}
        yield _difference(
            f"version of {ours[0].step.tool or 'the tool'}", *said, blocks=len(majors) > 1
        )


def _of_loads(ours: Attempts, theirs: Attempts) -> Iterator[SetupDifference]:
    """Yield what runs that were made elsewhere are known by: they have no parameters.

    Names are anybody's choice.
    """
    loads = [[dict(imported_parts(each.step)) for each in side] for side in (ours, theirs)]
    for name in dict.fromkeys(name for side in loads for each in side for name in each):
        known = [{each[name] for each in side if each.get(name)} for side in loads]
        if all(known) and len(known[0] | known[1]) > 1:
            yield _difference(name, *known, blocks=name != MEASUREMENT)


def _difference(
    what: str,
    a: Iterable[str],
    b: Iterable[str],
    *,
    blocks: bool,
    matters: bool = True,
    meant: bool = False,
) -> SetupDifference:
    """Return a difference in a point.

    One that is `meant` does not block where each side has one value.
    """
    ours, theirs = sorted(set(a)), sorted(set(b))
    alike = len(ours) == len(theirs) == 1
    return SetupDifference(
        what, " or ".join(ours), " or ".join(theirs), blocks and not (meant and alike), matters
    )


def _of_states(a: Side, b: Side) -> Iterator[SetupDifference]:
    """Yield runs that are not whole or not valid: their figures are no evidence."""
    for side, records in (("A", a), ("B", b)):
        for record in records:
            if record.state not in WHOLE:
                yield SetupDifference(
                    f"{side} {record.run_id} is {record.state}", "", "", blocks=True
                )
            if record.verdict == "invalid":
                ids = dict.fromkeys(each.id for each in record.findings if each.severity == "error")
                yield SetupDifference(
                    f"{side} {record.run_id} is invalid ({', '.join(ids)})", "", "", blocks=True
                )
            if record.judged_since:
                yield SetupDifference(
                    f"{side} {record.run_id}: NOT the verdict that was sealed, see runs verify",
                    "",
                    "",
                )
    yield from _differs("warnings", a, b, _warnings)


def _warnings(record: RunRecord) -> str:
    return (
        ", ".join(sorted({each.id for each in record.findings if each.severity == "warning"}))
        or "none"
    )


def _of_setups(a: Side, b: Side) -> Iterator[SetupDifference]:
    yield from _differs("target", a, b, lambda run: run.target, matters=False)
    yield from _differs(
        "hosts", a, b, lambda run: ", ".join(sorted(host.name for host in run.hosts)), matters=False
    )
    yield from _differs(
        "version of benchtui", a, b, lambda run: run.provenance.benchtui_version, matters=False
    )


def _of_facts(a: Side, b: Side) -> Iterator[SetupDifference]:
    """Yield what the hosts of one side are known to be and those of the other are not."""
    facts = {f"{side}\t{run.run_id}\t{host.name}": host.facts
             for side, records in (("A", a), ("B",
                 b)) for run in records for host in run.hosts}  # fmt: skip
    for each in compare_facts(facts).differing:
        values: dict[str, set[str]] = {"A": set(), "B": set()}
        for group in each.known:
            for host in group.hosts:
                values[host[0]].add(leaf_text(each.name, group.value))
        if all(values.values()) and values["A"] != values["B"]:
            yield SetupDifference(
                each.title,
                _few(sorted(values["A"])),
                _few(sorted(values["B"])),
                matters=each.matters,
            )

"""How the points of a run were measured: parameters, load, hosts, tool.

Runs are comparable if this is equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from math import floor, log2
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct, field

from tui.analysis.published import (
    bare_version,
    is_place,
    kinds_of,
    major,
    written,
)
from tui.library.record_head import HeadlineHead
from tui.model.bounded import NO_JSON, read_file
from tui.model.load_keys import digest_of, load_keys
from tui.model.plain_data import MultiLine, PlainDecoder
from tui.model.problem import UsageError
from tui.model.quantities import plain_size
from tui.model.record import RunRecord
from tui.model.rundir import RECORD_FILE
from tui.model.step_record import Scalar
from tui.model.yaml_text import load

if TYPE_CHECKING:
    from tui.model.step_record import StepRecord

NOT_OF_A_POINT = ("suite", "capacity", "curve", "pause", "on_host_loss")
"""Keys of a profile that concern the run as a whole, or that the record contains separately."""
PROFILE_TEXT, HOSTS, MEASUREMENT = "profile text", "hosts", "measurement"
EVEN = 0.05  # how far a mean size may be off the size of each I/O
LONG = 40


class PointSetup(Struct, frozen=True):
    """How a point was measured, as names and values; empty if unknown."""

    parts: tuple[tuple[str, str], ...] = ()

    def differs(self, shown: PointSetup) -> str:
        """Return the differences from the setup shown here, as text.

        ``bs 64k, here 4k; hosts h2, here h1``
        """
        if not self.parts or not shown.parts:
            return "setup unknown" if not self.parts else "setup known there, unknown here"
        ours, theirs = dict(self.parts), dict(shown.parts)
        names = [name for name in {**theirs, **ours} if ours.get(name) != theirs.get(name)]
        return "; ".join(
            _other(name, ours.get(name, "none"), theirs.get(name, "none")) for name in names
        )


def _other(name: str, ours: str, shown: str) -> str:
    if name == PROFILE_TEXT:
        return "different profile text"
    if max(len(ours), len(shown)) <= LONG:
        return f"{name} {ours}, here {shown}"
    counts = [len(each.split(", ")) for each in (ours, shown)]
    return (
        f"{counts[0]} {name}, here {counts[1]}" if counts[0] != counts[1] else f"different {name}"
    )


UNKNOWN = PointSetup()


class PointMeasurement(Struct, frozen=True):
    """A point of a run, its setup and its headline.

    `headline` is None if the run's headline applies.
    """

    point: str = ""
    setup: PointSetup = UNKNOWN
    headline: HeadlineHead | None = None


# -- the part of run.json with the setup; the rest is skipped unparsed


class _Cell(Struct):
    key: str = ""
    steps: list[int] = field(default_factory=list)
    headline: HeadlineHead | None = None


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
    options: dict[str, str] = field(default_factory=dict)
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


class _Answer(Struct):
    state: str = ""


class SearchSetup(Struct):
    """What a search varied, and how it ended."""

    kind: str = ""
    answer: _Answer | None = None
    limits: list[_Limit] = field(default_factory=list)
    over: list[str] = field(default_factory=list)


class _ProvenanceTools(Struct):
    tool_versions: dict[str, str] = field(default_factory=dict)


class _Precondition(Struct):
    left_out: bool = False


class Head(Struct):
    """The fields of a record that say how it was measured."""

    profile: _ProfileSetup = field(default_factory=_ProfileSetup)
    target: str | None = None
    state: str = ""
    latency_kind: str = ""
    hosts: list[_HostName] = field(default_factory=list)
    steps: list[_StepSetup] = field(default_factory=list)
    matrix: _Matrix | None = None
    search: SearchSetup | None = None
    proves: dict[str, Any] | None = None
    precondition: _Precondition | None = None
    provenance: _ProvenanceTools = field(default_factory=_ProvenanceTools)


_heads = PlainDecoder(Head)


def head_at(run_dir: Path) -> Head | None:
    """Return the setup fields of the record in a run directory.

    None if there is no record, or it cannot be read.
    """
    with suppress(OSError, *NO_JSON):
        return _heads.decode(read_file(run_dir / RECORD_FILE))
    return None


def head_of(record: RunRecord) -> Head:
    """Return the setup fields of a record in memory, such as a live run's."""
    steps = {"__all__": set(_StepSetup.__struct_fields__) - {"results"}}
    wanted: dict[str, Any] = {**dict.fromkeys(Head.__struct_fields__, True), "steps": steps}
    return msgspec.convert(record.model_dump(mode="json", include=wanted), Head)


def measured_at(run_dir: Path) -> list[PointMeasurement]:
    """Return the points of the run in a directory.

    A single point with unknown setup if the record cannot be read.
    """
    head = head_at(run_dir)
    return [PointMeasurement()] if head is None else measured(head)


def measured(head: Head) -> list[PointMeasurement]:
    """Return the points of a run: each point of a sweep or suite, otherwise (also for a search) the
    whole run.

    Empty for a counter-experiment, which is not part of a history. A search that found no capacity
    has a headline without a value.
    """
    if head.proves is not None:
        return []
    cells = head.matrix.cells if head.matrix is not None and head.search is None else []
    if len(cells) < 2:
        counted = [step for step in head.steps if not step.warmup]
        setup = _setup(head, counted[0] if counted else _StepSetup(params=head.profile.params))
        answer = head.search.answer if head.search is not None else None
        unanswered = answer is not None and answer.state != "found"
        return [PointMeasurement("", setup, HeadlineHead() if unanswered else None)]
    return [
        PointMeasurement(
            each.key, _setup(head, _step_of(head, each)), each.headline or HeadlineHead()
        )
        for each in cells
    ]


def _step_of(head: Head, cell: _Cell) -> _StepSetup:
    known = [head.steps[at] for at in cell.steps if at < len(head.steps)]
    return known[0] if known else _StepSetup()


def _setup(head: Head, step: _StepSetup) -> PointSetup:
    return PointSetup(tuple((name, value) for name, value in _parts(head, step) if value))


def _parts(head: Head, step: _StepSetup) -> Iterator[tuple[str, str]]:
    """Yield name and value of everything that must be equal.

    Swept values are left out: they are in the point's name.
    """
    members: list[_Text] = [each for each in head.profile.members if each.tag == step.profile]
    profile = members[0] if members else head.profile
    yield "profile version", str(profile.version or "")
    texts = [*filter(None, (*reversed(head.profile.bases), profile.text))]
    kinds = {name: kind for text in texts for name, kind in _kinds(text).items()}
    params = step.params if head.search is None else head.profile.params
    for name, value in sorted(params.items()):
        if value is not None and name not in step.point and not is_place(name, str(value)):
            yield name, written(value, kinds.get(name, ""))
    yield from _of_search(head.search) if head.search is not None else ()
    if head.state == "imported":
        yield from imported_parts(step)
        yield from sorted(step.options.items())
    yield HOSTS, ", ".join(sorted(host.name for host in head.hosts))
    yield "tool", _tool(head, step)
    yield "latency counted", step.latency_kind or head.latency_kind
    yield (
        "preconditioning skipped",
        "yes" if head.precondition is not None and head.precondition.left_out else "",
    )
    yield PROFILE_TEXT, " ".join(filter(None, map(_digest, texts)))


def _of_search(search: SearchSetup) -> Iterator[tuple[str, str]]:
    yield "search", search.kind
    yield "limits", ", ".join(limit.text for limit in search.limits)
    yield "searched over", ", ".join(search.over)


def imported_parts(step: _StepSetup | StepRecord) -> Iterator[tuple[str, str]]:
    """Yield name and value of what identifies an imported run's load, because it has no parameters.

    A value is empty if unknown.
    """
    yield MEASUREMENT, step.name
    yield "I/Os in flight", str(step.in_flight or "")
    totals: dict[str, Any] = {**step.results.aggregate}
    for name, total in sorted(totals.items()):
        if total.ios and total.bytes:
            yield f"{name} size", _size_class(total.bytes / total.ios)


def _size_class(mean: float) -> str:
    """Return a mean size rounded so that equal loads compare equal.

    The result is a power of two, or the two powers of two around the size.
    """
    near = 1 << round(log2(mean))
    if abs(mean / near - 1) <= EVEN:
        return plain_size(near)
    low = 1 << floor(log2(mean))
    return f"{plain_size(low)} to {plain_size(2 * low)}"


def _tool(head: Head, step: _StepSetup) -> str:
    known = (
        [step.metadata.version]
        if step.metadata is not None
        else [*head.provenance.tool_versions.values()]
    )
    versions = sorted({major(bare_version(each)) for each in known if each})
    return " ".join(filter(None, (step.tool or "", ", ".join(versions))))


@cache
def _kinds(text: str) -> Mapping[str, str]:
    try:
        return kinds_of(load(text, "").data)
    except UsageError:
        return {}


def _digest(text: str) -> str:
    """Return a digest of the parts of a profile that affect the load of a point."""
    keys = load_keys(text)
    return digest_of(
        {
            path: value
            for path, value in keys.items()
            if path.partition(".")[0] not in NOT_OF_A_POINT
        }
    )

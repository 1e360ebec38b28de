"""Published results: YAML files, one per source, and the single results in them.

Figures are kept as printed (`tui.model.printed`), together with SI values. Facts that a source does
not state are absent; doubts are recorded with the figure. Pure: `tui.analysis.published` finds the
files.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from msgspec import Struct
from msgspec.structs import replace
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
)

from tui.model.plain import TAG_PATTERN
from tui.model.printed import FORMS, UNITS, Quantity, Unit, or_in, parse_printed, printed_unit
from tui.model.problem import Problem, UsageError, did_you_mean
from tui.model.profile import ProfileSource, Text
from tui.model.validation import file_schema, in_order, problems_of
from tui.model.yaml_text import YamlDocument, load

NAME_PATTERN = r"^[a-z0-9][a-z0-9_-]*$"
Scalar = str | int | float | bool
Kind = Literal["summary", "sample"]
Validity = Literal["ok", "doubtful", "error"]
Metric = Literal["iops", "bandwidth", "latency", "ops", "cpu"]
STATISTICS = "min, max, mean, stddev, or a percentile such as p99.5"


def _reader(unit: Unit) -> BeforeValidator:
    return BeforeValidator(functools.partial(parse_printed, unit))


def _schema(unit: Unit) -> WithJsonSchema:
    return WithJsonSchema({"type": ["string", "number"], "description": FORMS[unit]})


def _statistic(name: str) -> str:
    if not re.fullmatch(r"min|max|mean|stddev|p[0-9]{1,2}(\.[0-9]{1,4})?", name):
        raise ValueError(f"allowed: {STATISTICS}")
    return name


Rate = Annotated[Quantity, _reader("iops"), _schema("iops")]
Bandwidth = Annotated[Quantity, _reader("bytes_per_s"), _schema("bytes_per_s")]
Time = Annotated[Quantity, _reader("ns"), _schema("ns")]
Operations = Annotated[Quantity, _reader("ops_per_s"), _schema("ops_per_s")]
Percent = Annotated[Quantity, _reader("percent"), _schema("percent")]
Bytes = Annotated[Quantity, _reader("bytes"), _schema("bytes")]
Seconds = Annotated[Quantity, _reader("s"), _schema("s")]
Statistic = Annotated[str, AfterValidator(_statistic)]
Latency = dict[Statistic, Time]
TextList = list[Text]


class PublishedPart(BaseModel):
    """Base of all parts of the file: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Directed(PublishedPart):
    """Printed figures of one direction."""

    iops: Rate | None = Field(None, description="I/Os per second")
    bandwidth: Bandwidth | None = Field(None, description="Bytes per second")
    slat: Latency = Field(default_factory=dict, description=f"Submission latency: {STATISTICS}")
    clat: Latency = Field(default_factory=dict, description=f"Completion latency: {STATISTICS}")
    lat: Latency = Field(default_factory=dict, description=f"Total latency: {STATISTICS}")
    latency: Latency = Field(
        default_factory=dict, description=f"Latency of an unstated kind: {STATISTICS}"
    )
    ios: int | None = Field(None, description="I/Os completed")
    moved: Bytes | None = Field(None, description="Bytes moved")
    runtime: Seconds | None = Field(None, description="Time measured")
    bw_samples: int | None = Field(None, description="Number of samples in fio's bandwidth line")


class OperationRates(PublishedPart):
    """Metadata operations per second."""

    create: dict[Statistic, Operations] = Field(default_factory=dict, description="File creation")
    stat: dict[Statistic, Operations] = Field(default_factory=dict, description="File stat")
    read: dict[Statistic, Operations] = Field(default_factory=dict, description="File read")
    remove: dict[Statistic, Operations] = Field(default_factory=dict, description="File removal")
    tree_create: dict[Statistic, Operations] = Field(
        default_factory=dict, description="Tree creation"
    )
    tree_remove: dict[Statistic, Operations] = Field(
        default_factory=dict, description="Tree removal"
    )


class EachClient(PublishedPart):
    """Facts about each client that the checks use as evidence."""

    memory: Bytes | None = Field(None, description="Memory per client")
    filesystem: Text | None = Field(None, description="Target file system type, as in /proc/mounts")
    link: Bandwidth | None = Field(None, description=("Link speed of each client to the storage"))


class Ranks(PublishedPart):
    """Placement of an MPI program's ranks, if the source states it."""

    shift: int = Field(ge=0, description="Rank shift between phases, as given to the program")
    placement: Literal["blocks", "round-robin"] = Field(
        description="round-robin: rank r runs on client r mod clients"
    )


class PublishedSetup(PublishedPart):
    """One measured configuration; a field is absent if the source does not state it."""

    system: Text | None = Field(None, description="What was measured")
    clients: Text | None = Field(None, description="The hosts that generated the load")
    hardware: Text | None = Field(None, description="Processors, memory and media per node")
    protection: Text | None = Field(None, description="Replicas, RAID level, erasure code")
    network: Text | None = Field(None, description="Network between clients and storage")
    each_client: EachClient | None = Field(
        None, description="Facts about each client, used by the checks"
    )


class Tool(PublishedPart):
    """The load generator of a source."""

    name: Text = Field(description="Load generator: fio, mdtest")
    version: Text | None = Field(None, description="Version; absent: not stated")
    assumed: bool = Field(False, description="The source assumes this version; it is not printed")


class PublishedResult(PublishedPart):
    """The figures of one point of one configuration."""

    setup: str | None = Field(
        None, description=("Configuration behind this result, one of `setups`")
    )
    label: Text | None = Field(
        None, description="A few words that distinguish this result from the others"
    )
    at: dict[str, Scalar] = Field(
        default_factory=dict, description="Values of swept parameters, as in the profile"
    )
    printed_at: dict[str, Scalar] = Field(
        default_factory=dict,
        description="Values of swept parameters as printed, if the source misprints them",
    )
    hosts: int | None = Field(None, ge=1, description="Number of clients; absent: not stated")
    host: Text | None = Field(
        None, description="Client name, if the figures are for a single client"
    )
    kind: Kind | None = Field(
        None, description="summary: the source's own summary; sample: output of one run"
    )
    validity: Validity | None = Field(
        None, description="doubtful: see the doubts; error: the run failed"
    )
    error: Text | None = Field(None, description="Error as printed by the tool")
    date: Text | None = Field(None, description="When it was measured")
    jobs: int | None = Field(None, ge=1, description="Number of jobs that fio printed")
    read: Directed | None = Field(None, description="Reads")
    write: Directed | None = Field(None, description="Writes")
    mixed: Directed | None = Field(None, description="Reads and writes together")
    operations: OperationRates | None = Field(None, description="Metadata operations")
    cpu: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")], Percent] = Field(
        default_factory=dict,
        description="CPU use by process, in per cent of a core unless a doubt says otherwise",
    )
    unknown: TextList = Field(
        default_factory=list, description="What the source does not say about this point"
    )
    doubts: TextList = Field(default_factory=list, description="Doubts about this point")


class PublishedWorkload(PublishedPart):
    """Results of one workload in a source."""

    profile: str = Field(pattern=TAG_PATTERN, description="Profile tag of this workload")
    variants: list[Annotated[str, Field(pattern=TAG_PATTERN)]] = Field(
        default_factory=list,
        description="Derived profiles that also show these figures",
    )
    params: dict[str, Scalar] = Field(
        default_factory=dict, description="Published parameters, named as in the profile"
    )
    tool: Tool | None = Field(None, description="Load generator, if different from the document's")
    hosts: int | None = Field(None, ge=1, description="Number of clients, for all results")
    ranks: Ranks | None = Field(None, description="Placement of an MPI program's ranks")
    kind: Kind = Field(
        "summary", description="summary: the source's own summary; sample: output of one run"
    )
    validity: Validity = Field("ok", description="doubtful: see the doubts; error: the run failed")
    unknown: TextList = Field(
        default_factory=list, description="What the source does not say about this workload"
    )
    doubts: TextList = Field(
        default_factory=list, description="Doubts about all results of this workload"
    )
    results: list[PublishedResult] = Field(
        min_length=1, description="Figures, one entry per point and configuration"
    )


class BaselineFile(PublishedPart):
    """Published figures of one source."""

    baselines: str = Field(pattern=NAME_PATTERN, description="Collection name, such as ceph")
    title: Text = Field(description="Title in one line: who published the figures")
    source: ProfileSource = Field(description="Where they were published")
    tool: Tool = Field(description="The load generator")
    unit_uncertain: dict[str, str] = Field(
        default_factory=dict,
        description="Printed units that may be wrong: {MB/s: MiB/s}",
    )
    setups: dict[Annotated[str, Field(pattern=NAME_PATTERN)], PublishedSetup] = Field(
        min_length=1, description="Measured configurations by name"
    )
    unknown: TextList = Field(default_factory=list, description="What the source does not say")
    doubts: TextList = Field(
        default_factory=list, description="Doubts about all figures of this source"
    )
    workloads: list[PublishedWorkload] = Field(min_length=1, description="The figures by workload")


class PublishedFigure(Struct, frozen=True):
    """One published figure.

    `of` is a direction, an operation, or a process that uses CPU; `kind` is clat, lat, slat or
    empty.
    """

    of: str
    metric: Metric
    quantity: Quantity
    statistic: str = ""
    kind: str = ""

    @property
    def key(self) -> str:
        """Name for tables, such as ``read clat p99.5``."""
        return " ".join(
            part for part in (self.of, self.kind or self.metric, self.statistic) if part
        )


class Baseline(Struct, frozen=True):
    """Figures of one point of one configuration, with all facts and doubts about them."""

    collection: str
    title: str
    source: ProfileSource
    profile: str
    variants: tuple[str, ...]
    setup: str
    facts: PublishedSetup
    label: str
    at: Mapping[str, Scalar]
    params: Mapping[str, Scalar]
    tool: Tool
    hosts: int | None
    host: str | None
    kind: Kind
    validity: Validity
    error: str | None
    date: str | None
    figures: tuple[PublishedFigure, ...]
    unknown: tuple[str, ...]
    doubts: tuple[str, ...]
    result: PublishedResult
    ranks: Ranks | None = None
    computed: bool = False  # summed by benchtui from the figures of single hosts


def load_baselines(text: str, file: str) -> list[Baseline]:
    """Return the baselines of a YAML text. Raises UsageError with the problems, in file order."""
    document = load(text, file)
    try:
        found = BaselineFile.model_validate(document.data)
    except ValidationError as error:
        raise UsageError(in_order(problems_of(error, document, BaselineFile))) from None
    if problems := [*_setup_problems(found, document), *_unit_problems(found, document)]:
        raise UsageError(in_order(problems))
    return list(baselines_of(found))


def baselines_of(found: BaselineFile) -> Iterator[Baseline]:
    """Yield the baselines of a file; if a workload has several results by host, also their sum."""
    for workload in found.workloads:
        single = [_baseline(found, workload, result) for result in workload.results]
        yield from single
        by_host = [each for each in single if each.host is not None]
        if len(by_host) > 1:
            yield _sum_of(by_host)


def baseline_json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a file of baselines."""
    return file_schema(BaselineFile, "benchtui baselines")


def _setup_problems(found: BaselineFile, document: YamlDocument) -> Iterator[Problem]:
    """Yield problems with results that name unknown configurations or have no figure."""
    for index, workload in enumerate(found.workloads):
        for place, result in enumerate(workload.results):
            path = ("workloads", index, "results", place)
            if result.setup is None and len(found.setups) > 1:
                message = f"missing setup; allowed: {', '.join(found.setups)}"
                yield document.problem(path, message)
            elif result.setup is not None and result.setup not in found.setups:
                nearest = did_you_mean(result.setup, found.setups)
                message = (
                    f"unknown setup '{result.setup}'{nearest}; allowed: {', '.join(found.setups)}"
                )
                yield document.problem((*path, "setup"), message)
            if not any(True for _ in figures_of(result)):
                yield document.problem(
                    path, "no figures; expected at least one of read, write, mixed, operations, cpu"
                )


def _unit_problems(found: BaselineFile, document: YamlDocument) -> Iterator[Problem]:
    """Yield problems with uncertain units that are not bandwidth units."""
    for name, other in found.unit_uncertain.items():
        if name not in UNITS["bytes_per_s"] or other not in UNITS["bytes_per_s"]:
            message = (
                f"unit_uncertain: found {name}: {other}; expected two bandwidth units, such as"
                " MB/s: MiB/s"
            )
            yield document.problem(("unit_uncertain", name), message)


def _baseline(
    found: BaselineFile, workload: PublishedWorkload, result: PublishedResult
) -> Baseline:
    setup = result.setup or next(iter(found.setups))
    return Baseline(
        collection=found.baselines,
        title=found.title,
        source=found.source,
        profile=workload.profile,
        variants=tuple(workload.variants),
        setup=setup,
        facts=found.setups[setup],
        label=_label(found, workload, result),
        at=result.at,
        params=workload.params,
        tool=workload.tool or found.tool,
        hosts=result.hosts or workload.hosts,
        host=result.host,
        kind=result.kind or workload.kind,
        validity=result.validity or workload.validity,
        error=result.error,
        date=result.date,
        figures=tuple(_in_doubt(figure, found.unit_uncertain) for figure in figures_of(result)),
        unknown=(
            *_absent(found, workload, result),
            *result.unknown,
            *workload.unknown,
            *found.unknown,
        ),
        doubts=(*result.doubts, *workload.doubts, *found.doubts),
        result=result,
        ranks=workload.ranks,
    )


def _absent(
    found: BaselineFile, workload: PublishedWorkload, result: PublishedResult
) -> Iterator[str]:
    """Yield the facts that a source should state but does not."""
    if result.hosts is None and workload.hosts is None:
        yield "number of clients"
    tool = workload.tool or found.tool
    if tool.version is None:
        yield f"{tool.name} version"
    facts = found.setups[result.setup or next(iter(found.setups))]
    yield from (
        name for name in ("hardware", "protection", "network") if getattr(facts, name) is None
    )


def _label(found: BaselineFile, workload: PublishedWorkload, result: PublishedResult) -> str:
    """Return the label that distinguishes a result from others of its workload."""
    kinds = {each.kind or workload.kind for each in workload.results if each.setup == result.setup}
    parts = [
        result.setup if result.setup and len(found.setups) > 1 else "",
        result.host or "",
        result.label or "",
        " ".join(f"{name}={value}" for name, value in result.at.items()),
        (result.kind or workload.kind) if len(kinds) > 1 else "",
    ]
    return ", ".join(part for part in parts if part)


def figures_of(result: PublishedResult) -> Iterator[PublishedFigure]:
    """Yield every figure that can be compared."""
    for direction, found in (
        ("read", result.read),
        ("write", result.write),
        ("mixed", result.mixed),
    ):
        if found is not None:
            yield from _directed(direction, found)
    if result.operations is not None:
        for name, rates in result.operations:
            operation = name.replace("_", "-")  # named as in records
            yield from (
                PublishedFigure(operation, "ops", rate, statistic)
                for statistic, rate in rates.items()
            )
    yield from (PublishedFigure(who, "cpu", share) for who, share in result.cpu.items())


def _directed(direction: str, found: Directed) -> Iterator[PublishedFigure]:
    if found.iops is not None:
        yield PublishedFigure(direction, "iops", found.iops)
    if found.bandwidth is not None:
        yield PublishedFigure(direction, "bandwidth", found.bandwidth)
    for kind, statistics in (
        ("slat", found.slat),
        ("clat", found.clat),
        ("lat", found.lat),
        ("", found.latency),
    ):
        yield from (
            PublishedFigure(direction, "latency", time, statistic, kind)
            for statistic, time in statistics.items()
        )


def _in_doubt(figure: PublishedFigure, units: Mapping[str, str]) -> PublishedFigure:
    """Return a figure with limits widened to cover both units, if its unit is uncertain."""
    other = units.get(printed_unit(figure.quantity)) if figure.metric == "bandwidth" else None
    if other is None:
        return figure
    return replace(figure, quantity=or_in(figure.quantity, other))


def _sum_of(parts: list[Baseline]) -> Baseline:
    """Return the sum of several hosts' rates; latencies cannot be summed."""
    first = parts[0]
    figures = []
    for figure in first.figures:
        same = [
            other.quantity for each in parts for other in each.figures if other.key == figure.key
        ]
        if figure.metric in ("iops", "bandwidth") and len(same) == len(parts):
            low, high = sum(each.low for each in same), sum(each.high for each in same)
            value = low if all(each.value is not None for each in same) else None
            printed = " + ".join(each.printed.partition(" (")[0] for each in same)
            figures.append(
                replace(
                    figure, quantity=Quantity(printed, figure.quantity.unit, value, low, high, True)
                )
            )
    worst: Validity = max((each.validity for each in parts), key=("ok", "doubtful", "error").index)
    doubts = tuple(dict.fromkeys(doubt for each in parts for doubt in each.doubts))
    unknown = tuple(dict.fromkeys(text for each in parts for text in each.unknown))
    return replace(
        first,
        label=f"sum of {len(parts)} (summed by benchtui)",
        host=None,
        figures=tuple(figures),
        validity=worst,
        doubts=doubts,
        unknown=unknown,
        computed=True,
    )

"""Parts of a profile: sweep, suite, repetitions, preconditioning, search. Pure."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
)

from tui.model.criteria import DIRECTIONS, UNITS
from tui.model.operands import unique
from tui.model.plain import HOSTS_AXIS
from tui.model.problem import did_you_mean
from tui.model.quantities import parse_duration
from tui.model.search import HOSTS, RATE, Limit

Scalar = str | bool | int | float
MAX_STEPS = 10_000


def as_share(value: object) -> object:
    """Convert a relative width, 5% or 0.05, to a fraction. Raises ValueError."""
    if isinstance(value, str) or (isinstance(value, int | float) and value >= 1):
        if not isinstance(value, str) or not re.fullmatch(r"\d+(\.\d+)?\s*%", value.strip()):
            raise ValueError("allowed: a percentage such as 5%, or a number below 1")
        return float(value.strip()[:-1]) / 100
    return value


class MatrixSpec(BaseModel):
    """Base of a profile's parts; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class SweepSpec(MatrixSpec):
    """Parameter values to measure, one combination after the other."""

    grid: dict[str, list[Scalar]] = Field(
        default_factory=dict,
        description=(
            "Values by parameter: every combination is measured, the last parameter varies fastest"
        ),
    )
    points: list[dict[str, Scalar]] = Field(
        default_factory=list,
        description=(
            "Alternative to grid: a list of combinations, each with its values by parameter"
        ),
    )
    hosts: list[Annotated[int, Field(ge=1)] | Literal["all"]] = Field(
        default_factory=list,
        description=("Host counts, such as [1, 2, 4, all], taken from the chosen hosts in order"),
    )


class RepeatSpec(MatrixSpec):
    """Number of repetitions that depends on how precise the headline is."""

    until: Annotated[float, BeforeValidator(as_share), Field(gt=0, lt=1)] = Field(
        description=(
            "Stop when the 95 % confidence interval of the mean is within ± this much, such as 5%"
        )
    )
    min: int = Field(3, ge=3, description="Minimum number of repetitions")
    max: int = Field(10, ge=3, le=1000, description="Maximum number of repetitions")


class SuiteMember(MatrixSpec):
    """A profile of a suite."""

    profile: str = Field(description="Profile tag: family/name")
    set: dict[str, Scalar] = Field(
        default_factory=dict,
        description="Profile parameters; '{name}' refers to a suite parameter",
    )
    role: str | None = Field(
        None, description="Role whose hosts run the profile; absent: all hosts"
    )
    needs: list[str] = Field(
        default_factory=list,
        description=(
            "Earlier profiles of the suite; if one of them fails on any host, this one is not run"
        ),
    )


class Together(MatrixSpec):
    """Profiles of a suite that run at the same time on different hosts."""

    together: list[SuiteMember] = Field(
        min_length=2, description="Concurrent profiles, each with its own role"
    )


def _form(entry: object) -> str:
    """Return which form a suite entry has, so that error messages cover only that form."""
    if isinstance(entry, Together) or (isinstance(entry, dict) and "together" in entry):
        return "several profiles"
    return "one profile" if isinstance(entry, SuiteMember | dict) else "a tag"


SuiteEntry = Annotated[
    Annotated[SuiteMember, Tag("one profile")]
    | Annotated[Together, Tag("several profiles")]
    | Annotated[str, Tag("a tag")],
    Discriminator(_form),
]


def grid_points(sweep: SweepSpec) -> list[dict[str, Scalar]]:
    """Return a sweep's combinations in order, without the number of hosts; [{}] if it varies only
    that.
    """
    if sweep.points:
        return [dict(point) for point in sweep.points]
    names = list(sweep.grid)
    return [
        dict(zip(names, values, strict=True)) for values in itertools.product(*sweep.grid.values())
    ]


def axes(sweep: SweepSpec) -> list[str]:
    """Return the swept parameters in file order, `hosts` last."""
    named = list(sweep.grid) or list(
        dict.fromkeys(name for point in sweep.points for name in point)
    )
    return [*named, *([HOSTS_AXIS] if sweep.hosts else [])]


def host_counts(sweep: SweepSpec, chosen: int) -> list[int]:
    """Return the swept host counts up to the number chosen; without any, that number alone."""
    counts = [chosen if count == "all" else count for count in sweep.hosts] or [chosen]
    return [count for count in dict.fromkeys(counts) if count <= chosen] or [chosen]


def with_values(sweep: SweepSpec | None, wanted: Mapping[str, Sequence[str]]) -> SweepSpec | None:
    """Return the profile's sweep with these values added or replaced.

    None if the profile has no sweep and no values are given.
    """
    if not wanted:
        return sweep
    own = sweep or SweepSpec()
    if own.points:
        rest = [
            {name: value for name, value in point.items() if name not in wanted}
            for point in own.points
        ]
        pairs = itertools.product(
            unique(rest), grid_points(SweepSpec(grid={n: list(v) for n, v in wanted.items()}))
        )
        return SweepSpec(points=[{**point, **more} for point, more in pairs], hosts=own.hosts)
    return SweepSpec(
        grid={**own.grid, **{name: list(values) for name, values in wanted.items()}},
        hosts=own.hosts,
    )


def without(sweep: SweepSpec | None, fixed: Mapping[str, object]) -> SweepSpec | None:
    """Return a sweep without the parameters that were fixed at launch; None stays None."""
    if sweep is None or not any(name in fixed for name in axes(sweep)):
        return sweep
    grid = {name: values for name, values in sweep.grid.items() if name not in fixed}
    points = unique(
        {name: value for name, value in point.items() if name not in fixed}
        for point in sweep.points
    )
    return SweepSpec(
        grid=grid, points=[point for point in points if point], hosts=list(sweep.hosts)
    )


Share = Annotated[float, BeforeValidator(as_share), Field(gt=0, lt=1)]


class PreconditionSpec(MatrixSpec):
    """Preconditioning of the storage before each point is measured (SNIA SSS PTS)."""

    fill: int = Field(
        2,
        ge=0,
        le=10,
        description="Number of times to write all files sequentially; 0: none",
    )
    bs: Scalar = Field("128k", description="Write block size")
    rounds: int = Field(
        25, ge=0, le=1000, description="Maximum rounds of the profile's own load; 0: none"
    )
    round: Scalar = Field("60s", description="Round duration; may name a parameter: '{round}'")
    window: int = Field(
        5, ge=2, le=100, description="Number of consecutive rounds that must be steady"
    )
    range: Share = Field(
        0.2, description="Maximum range of these rounds, such as 20% of their mean"
    )
    slope: Share = Field(
        0.1, description="Maximum drift of these rounds, such as 10% of their mean"
    )


class AttestSpec(MatrixSpec):
    """A condition that benchtui cannot check and therefore asks the user about at launch."""

    id: str = Field(
        pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$",
        description="Condition name: run --attest ID=yes",
    )
    question: str = Field(
        min_length=1, description="Question in one line, to be answered with yes, no or unknown"
    )


FORM = re.compile(
    r"\s*(?:(?P<direction>[a-z]+)\.)?(?P<metric>p\d{1,2}(?:\.\d+)?|mean|errors)\s*(?P<order><=|<|=)\s*"
    r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>\S*)\s*"
)
EXAMPLES = "such as 'p99.9 < 2ms', 'read.p99 < 500us', 'sync.mean < 1ms', 'errors = 0'"
MOST_POINTS = 500


def parse_limit(text: str) -> Limit:
    """Parse a limit. Raises ValueError with the allowed forms."""
    found = FORM.fullmatch(text)
    if found is None:
        raise ValueError(
            f"invalid limit '{text}'; expected [DIRECTION.]METRIC < NUMBER UNIT (METRIC: pNN or"
            f" mean), or errors = 0, {EXAMPLES}"
        )
    direction, metric, number, unit = (
        found["direction"] or "",
        found["metric"],
        float(found["number"]),
        found["unit"],
    )
    if direction and direction not in DIRECTIONS:
        meant = did_you_mean(direction, DIRECTIONS)
        raise ValueError(
            f"'{text}': unknown direction '{direction}'{meant}; allowed: {', '.join(DIRECTIONS)}"
        )
    if metric == "errors":
        if unit or direction or not number.is_integer() or (found["order"] == "<" and not number):
            raise ValueError(
                f"'{text}': errors must be a whole number, without a direction, such as 'errors = "
                f"0'"
            )
        return Limit(
            text.strip(), direction, "errors", None, number - 1 if found["order"] == "<" else number
        )
    factor = UNITS["latency"].get(unit)
    if factor is None or found["order"] == "=" or not number:
        raise ValueError(
            f"'{text}': expected a time above 0, in {', '.join(UNITS['latency'])}, {EXAMPLES}"
        )
    percentile = float(metric[1:]) if metric != "mean" else None
    return Limit(text.strip(), direction, "latency", percentile, number * factor)


def known_limit(text: str) -> str:
    """Return a limit's text unchanged. Raises ValueError if it is invalid."""
    parse_limit(text)
    return text


def known_span(value: Scalar) -> Scalar:
    """Return a duration unchanged. Raises ValueError if it is invalid or 0."""
    if parse_duration(value) <= 0:
        raise ValueError("must be greater than 0")
    return value


def known_hold(value: Scalar) -> Scalar:
    """Return a hold duration unchanged; 0 means no hold. Raises ValueError if it is invalid."""
    parse_duration(value)
    return value


Span = Annotated[Scalar, AfterValidator(known_span)]
Knobs = dict[str, list[Annotated[int, Field(ge=1)]]]


class CapacitySpec(MatrixSpec):
    """Search for the highest load that meets all limits."""

    objective: Literal["iops", "bandwidth"] = Field("iops", description="Metric to maximise")
    limits: list[Annotated[str, AfterValidator(known_limit)]] = Field(
        min_length=1,
        description="Limits: 'read.p99.9 < 2ms', 'write.p99 < 5ms', 'errors = 0'",
    )
    over: list[str | Knobs] = Field(
        default=[RATE],
        min_length=1,
        description=(
            "What to vary: rate, hosts, parameters that are counts, with values as "
            "{iodepth: [1, 8]}"
        ),
    )
    points: int = Field(40, ge=2, le=MOST_POINTS, description="Maximum number of points")
    within: Span | None = Field(None, description="Maximum time of load and pauses")
    point: Span = Field(
        "10s", description="Minimum measurement time; longer if a percentile needs more I/Os"
    )
    most: Span = Field("2m", description="Maximum measurement time")
    hold: Annotated[Scalar, AfterValidator(known_hold)] = Field(
        "5m",
        description="Time to hold the capacity before it counts; 0: no hold",
    )
    tolerance: Share = Field(0.03, description="Capacity precision, ± this share")


class CurveSpec(MatrixSpec):
    """Latency over load: measured at the maximum, then at shares of it."""

    limits: list[Annotated[str, AfterValidator(known_limit)]] = Field(
        default_factory=list,
        description="Limits to check points against; they do not end the run",
    )
    shares: list[Share | Literal[1]] = Field(
        default_factory=lambda: [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1],
        min_length=1,
        description="Offered loads, as shares of the maximum",
    )
    order: Literal["random", "up-down"] = Field(
        "random", description="Order in which the shares are offered"
    )
    within: Span | None = Field(None, description="Maximum time of load and pauses")
    point: Span = Field(
        "10s", description="Minimum measurement time; longer if a percentile needs more I/Os"
    )
    most: Span = Field("2m", description="Maximum measurement time")


def knobs_of(over: list[str | Knobs]) -> dict[str, list[int]]:
    """Return the names to search over, in order, with their values; no values if not given."""
    found: dict[str, list[int]] = {}
    for each in over:
        found |= (
            {each: []}
            if isinstance(each, str)
            else {name: sorted(set(values)) for name, values in each.items()}
        )
    return found


def over_of(words: Sequence[str]) -> dict[str, list[int]]:
    """Parse the knobs of a search: ``rate,iodepth``, or ``iodepth=1,8,32`` with values.

    Raises ValueError.
    """
    found: dict[str, list[int]] = {}
    for word in words:
        name, given, values = word.partition("=")
        if not given:
            found |= {each.strip(): [] for each in word.split(",") if each.strip()}
            continue
        parts = [each.strip() for each in values.split(",") if each.strip()]
        if not parts or not all(each.isdecimal() and int(each) for each in parts):
            raise ValueError(
                f"{word}: expected NAME, or NAME=N1,N2 with whole numbers of 1 or more"
            )
        found[name.strip()] = sorted({int(each) for each in parts})
    return found


TAKEN = (RATE, HOSTS)

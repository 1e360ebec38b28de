"""What a profile says of searches: its capacity under limits, its load curve. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from tui.model.criteria import DIRECTIONS, UNITS
from tui.model.matrix import MatrixSpec, Scalar, as_share
from tui.model.problem import did_you_mean
from tui.model.quantities import parse_duration
from tui.model.search import HOSTS, RATE, Limit

FORM = re.compile(
    r"\s*(?:(?P<direction>[a-z]+)\.)?(?P<metric>p\d{1,2}(?:\.\d+)?|mean|errors)\s*(?P<order><=|<|=)\s*"
    r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>\S*)\s*"
)
EXAMPLES = "such as 'p99.9 < 2ms', 'read.p99 < 500us', 'sync.mean < 1ms', 'errors = 0'"
MOST_POINTS = 500
Share = Annotated[float, BeforeValidator(as_share), Field(gt=0, lt=1)]


def parse_limit(text: str) -> Limit:
    """Return a limit. Raises ValueError with what is allowed."""
    found = FORM.fullmatch(text)
    if found is None:
        raise ValueError(f"'{text}' is no limit: [DIRECTION.]pNN, mean or errors, < NUMBER UNIT, {EXAMPLES}")
    direction, metric, number, unit = found["direction"] or "", found["metric"], float(found["number"]), found["unit"]
    if direction and direction not in DIRECTIONS:
        meant = did_you_mean(direction, DIRECTIONS)
        raise ValueError(f"'{text}': no direction '{direction}'{meant}; allowed are {', '.join(DIRECTIONS)}")
    if metric == "errors":
        if unit or direction or not number.is_integer() or (found["order"] == "<" and not number):
            raise ValueError(f"'{text}': errors are a whole count, of all directions together, such as 'errors = 0'")
        return Limit(text.strip(), direction, "errors", None, number - 1 if found["order"] == "<" else number)
    factor = UNITS["latency"].get(unit)
    if factor is None or found["order"] == "=" or not number:
        raise ValueError(f"'{text}': a latency is below a time above 0, in {', '.join(UNITS['latency'])}, {EXAMPLES}")
    percentile = float(metric[1:]) if metric != "mean" else None
    return Limit(text.strip(), direction, "latency", percentile, number * factor)


def known_limit(text: str) -> str:
    """Return the text of a limit. Raises ValueError when it is none."""
    parse_limit(text)
    return text


def known_span(value: Scalar) -> Scalar:
    """Return a duration as it was written. Raises ValueError when it is none, or no time at all."""
    if parse_duration(value) <= 0:
        raise ValueError("it must be more than 0")
    return value


Span = Annotated[Scalar, AfterValidator(known_span)]
Knobs = dict[str, list[Annotated[int, Field(ge=1)]]]


class CapacitySpec(MatrixSpec):
    """How much load is sustained while all limits are kept."""

    objective: Literal["iops", "bandwidth"] = Field("iops", description="What shall be as large as possible")
    limits: list[Annotated[str, AfterValidator(known_limit)]] = Field(
        min_length=1, description="What must hold: 'read.p99.9 < 2ms', 'write.p99 < 5ms', 'errors = 0'"
    )
    over: list[str | Knobs] = Field(
        default=[RATE],
        min_length=1,
        description="What is searched over: rate, hosts, counts among the parameters, as {iodepth: [1, 8]} with values",
    )
    points: int = Field(15, ge=2, le=MOST_POINTS, description="Measurements at most")
    within: Span | None = Field(None, description="Time of load and pauses at most")
    point: Span = Field("10s", description="Least time of a measurement; more where a percentile needs more I/Os")
    most: Span = Field("2m", description="Most time of a measurement")
    tolerance: Share = Field(0.03, description="A capacity known to so much of itself to each side is known enough")


class CurveSpec(MatrixSpec):
    """Latency over load: the maximum, then shares of it."""

    limits: list[Annotated[str, AfterValidator(known_limit)]] = Field(
        default_factory=list, description="Limits to hold the points against; they stop nothing"
    )
    shares: list[Share | Literal[1]] = Field(
        default_factory=lambda: [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1],
        min_length=1,
        description="Shares of the maximum that are offered",
    )
    order: Literal["random", "up-down"] = Field("random", description="In which order")
    within: Span | None = Field(None, description="Time of load and pauses at most")
    point: Span = Field("10s", description="Least time of a measurement; more where a percentile needs more I/Os")
    most: Span = Field("2m", description="Most time of a measurement")


def knobs_of(over: list[str | Knobs]) -> dict[str, list[int]]:
    """Return the names that are searched over, in order, with the values that were given; empty: none were."""
    found: dict[str, list[int]] = {}
    for each in over:
        found |= {each: []} if isinstance(each, str) else {name: sorted(set(values)) for name, values in each.items()}
    return found


def over_of(words: Sequence[str]) -> dict[str, list[int]]:
    """Return what to search over: ``rate,iodepth``, or ``iodepth=1,8,32`` with values. Raises ValueError."""
    found: dict[str, list[int]] = {}
    for word in words:
        name, given, values = word.partition("=")
        if not given:
            found |= {each.strip(): [] for each in word.split(",") if each.strip()}
            continue
        parts = [each.strip() for each in values.split(",") if each.strip()]
        if not parts or not all(each.isdecimal() and int(each) for each in parts):
            raise ValueError(f"{word}: allowed are NAME, or NAME=N1,N2 with whole numbers from 1")
        found[name.strip()] = sorted({int(each) for each in parts})
    return found


TAKEN = (RATE, HOSTS)

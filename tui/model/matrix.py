"""Matrices of measurements: what a profile says of sweeps, suites and repetitions, and the points that follow. Pure."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

Scalar = str | bool | int | float
MAX_STEPS = 10_000
HOSTS_AXIS = "hosts"


def as_share(value: object) -> object:
    """Return a relative width as a fraction; people write 5%, or 0.05."""
    if isinstance(value, str) or (isinstance(value, int | float) and value >= 1):
        if not isinstance(value, str) or not re.fullmatch(r"\d+(\.\d+)?\s*%", value.strip()):
            raise ValueError("allowed is a percentage such as 5%, or a number below 1")
        return float(value.strip()[:-1]) / 100
    return value


class MatrixSpec(BaseModel):
    """Unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class SweepSpec(MatrixSpec):
    """Which values of parameters are measured one after the other."""

    grid: dict[str, list[Scalar]] = Field(
        default_factory=dict, description="Values by parameter: every combination is measured, the last name fastest"
    )
    points: list[dict[str, Scalar]] = Field(
        default_factory=list, description="Instead of a grid: the combinations one by one, values by parameter"
    )
    hosts: list[Annotated[int, Field(ge=1)] | Literal["all"]] = Field(
        default_factory=list, description="Numbers of hosts, such as [1, 2, 4, all]: the first so many that were chosen"
    )


class RepeatSpec(MatrixSpec):
    """Repeat until the headline is known well enough."""

    until: Annotated[float, BeforeValidator(as_share), Field(gt=0, lt=1)] = Field(
        description="Stop when the 95 % confidence interval of the mean is at most this wide to each side, such as 5%"
    )
    min: int = Field(3, ge=3, description="Repetitions that are made in any case")
    max: int = Field(10, ge=3, le=1000, description="Repetitions after which it ends all the same")


class SuiteMember(MatrixSpec):
    """One profile of a suite."""

    profile: str = Field(description="Tag of the profile: family/name")
    set: dict[str, Scalar] = Field(
        default_factory=dict, description="Parameters of it; '{name}' stands for a parameter of the suite"
    )


def grid_points(sweep: SweepSpec) -> list[dict[str, Scalar]]:
    """Return the combinations of a sweep in order, without the number of hosts; one empty one for no sweep."""
    if sweep.points:
        return [dict(point) for point in sweep.points]
    names = list(sweep.grid)
    return [dict(zip(names, values, strict=True)) for values in itertools.product(*sweep.grid.values())]


def axes(sweep: SweepSpec) -> list[str]:
    """Return the names that a sweep varies, in the order in which they were written."""
    named = list(sweep.grid) or list(dict.fromkeys(name for point in sweep.points for name in point))
    return [*named, *([HOSTS_AXIS] if sweep.hosts else [])]


def host_counts(sweep: SweepSpec, chosen: int) -> list[int]:
    """Return the numbers of hosts to measure with; those beyond what was chosen are left out."""
    counts = [chosen if count == "all" else count for count in sweep.hosts] or [chosen]
    return [count for count in dict.fromkeys(counts) if count <= chosen] or [chosen]


def with_values(sweep: SweepSpec | None, wanted: Mapping[str, Sequence[str]]) -> SweepSpec | None:
    """Return a sweep that also goes over these values: they take the place of the profile's own for that name."""
    if not wanted:
        return sweep
    own = sweep or SweepSpec()
    if own.points:
        rest = [{name: value for name, value in point.items() if name not in wanted} for point in own.points]
        pairs = itertools.product(unique(rest), grid_points(SweepSpec(grid={n: list(v) for n, v in wanted.items()})))
        return SweepSpec(points=[{**point, **more} for point, more in pairs], hosts=own.hosts)
    return SweepSpec(grid={**own.grid, **{name: list(values) for name, values in wanted.items()}}, hosts=own.hosts)


def without(sweep: SweepSpec | None, fixed: Mapping[str, object]) -> SweepSpec | None:
    """Return a sweep that leaves these parameters alone: they were given one value at launch."""
    if sweep is None or not any(name in fixed for name in axes(sweep)):
        return sweep
    grid = {name: values for name, values in sweep.grid.items() if name not in fixed}
    points = unique({name: value for name, value in point.items() if name not in fixed} for point in sweep.points)
    return SweepSpec(grid=grid, points=[point for point in points if point], hosts=list(sweep.hosts))


def unique(points: Iterable[dict[str, Scalar]]) -> list[dict[str, Scalar]]:
    """Return points each once, first come first."""
    found: list[dict[str, Scalar]] = []
    for point in points:
        if point not in found:
            found.append(point)
    return found

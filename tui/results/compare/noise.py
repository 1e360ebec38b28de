"""The noise floor of a configuration: how far apart runs come out that are the same, measured and kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev

import msgspec
from msgspec import Struct, field

from tui.journal.rundir import write_atomic
from tui.metrics.buckets import label
from tui.metrics.repeat import t_975
from tui.metrics.units import Few
from tui.model.bounded import read_file
from tui.model.no_json import NO_JSON
from tui.model.plain_data import PlainDecoder
from tui.model.plan import Headline
from tui.model.problem import BenchtuiError, NotComparableError, Problem
from tui.model.record import RunRecord
from tui.results.compare.measured import Point, points_of

NOISE_SCHEMA = "benchtui.noise/1"
Key = tuple[str, int | None, str | None, tuple[str, ...], str]


class Floor(Struct, frozen=True):
    """How far apart `n` same runs came out in one figure: `cov` is their deviation as a share of the mean."""

    n: int
    cov: float

    @property
    def of_one_run(self) -> float:
        """The least share that two single runs must be apart to be different (95 %): t, of a difference of two."""
        return t_975(self.n - 1) * sqrt(2) * self.cov


class Configuration(Struct):
    """What was measured again and again: profile, target, hosts and parameters; and each figure's floor by name."""

    profile: str
    version: int | None
    target: str | None
    hosts: list[str]
    params: str
    runs: list[str] = field(default_factory=list)
    figures: dict[str, Floor] = field(default_factory=dict)

    @property
    def key(self) -> Key:
        """What makes it the same configuration."""
        return self.profile, self.version, self.target, tuple(self.hosts), self.params


class _File(Struct):
    schema: str = NOISE_SCHEMA
    configurations: list[Configuration] = field(default_factory=list)


_files = PlainDecoder(_File)


def name_of(point: Point, figure: Headline) -> str:
    """Return the name of a figure of a point: ``bs=4k read.p99``."""
    return f"{point.name} {figure_name(figure)}".strip()


def figure_name(figure: Headline) -> str:
    """Return the short name of a figure, as thresholds write it: ``read.iops``, ``write.p99.9``, ``read.mean``."""
    if figure.metric == "latency":
        return f"{figure.direction}.{'mean' if figure.percentile is None else f'p{label(figure.percentile)}'}"
    return figure.direction if figure.metric == "ops" else f"{figure.direction}.{figure.metric}"


def configuration(record: RunRecord) -> Configuration:
    """Return the configuration of a run, without floors."""
    params = [(name, str(value)) for name, value in sorted(record.profile.params.items())]
    points = [step.cell or step.name for step in record.steps if not step.warmup]
    text = msgspec.json.encode([params, list(dict.fromkeys(points))]).decode()
    hosts = sorted(host.name for host in record.hosts)
    return Configuration(record.profile.tag, record.profile.version, record.target, hosts, text)


def measure(records: Sequence[RunRecord]) -> Configuration:
    """Return the floors of runs that are the same: two or more, or one with repetitions."""
    found = configuration(records[0])
    found.runs = [record.run_id for record in records]
    for point in points_of(records).values():
        for figure in point.figures:
            values = [value for attempt in point.attempts if (value := attempt.value(figure))]
            if len(values) > 1 and not any(isinstance(value, Few) for value in values):
                found.figures[name_of(point, figure)] = Floor(len(values), stdev(values) / fmean(values))
    return found


class NoiseFloors:
    """The floors that were kept, in one file."""

    def __init__(self, path: Path, configurations: Mapping[Key, Configuration] | None = None) -> None:
        self.path = path
        self._known = dict(configurations or {})

    @classmethod
    def read(cls, path: Path) -> NoiseFloors:
        """Read the file; without one nothing is known. Raises BenchtuiError when it cannot be read."""
        try:
            data = _files.decode(read_file(path))
        except FileNotFoundError:
            return cls(path)
        except (OSError, *NO_JSON) as error:
            raise NotComparableError(Problem(f"cannot be read: {error}", file=str(path))) from error
        return cls(path, {each.key: each for each in data.configurations})

    def keep(self, found: Configuration) -> None:
        """Keep a configuration's floors in place of older ones. Raises BenchtuiError."""
        self._known[found.key] = found
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            text = msgspec.json.format(msgspec.json.encode(_File(configurations=list(self._known.values()))))
            write_atomic(self.path, text + b"\n")
        except OSError as error:
            raise BenchtuiError(Problem(f"cannot be written: {error.strerror}", file=str(self.path))) from error

    def floor(self, record: RunRecord, name: str) -> Floor | None:
        """Return the floor of a figure in the configuration of a run; None when nobody measured it."""
        known = self._known.get(configuration(record).key)
        return known.figures.get(name) if known is not None else None

    def renamed(self, records: Iterable[tuple[RunRecord, RunRecord]]) -> NoiseFloors:
        """Return the floors of the first record of each pair as those of the second one, which has other names."""
        pairs = [(self._known.get(configuration(record).key), other) for record, other in records]
        known = {configuration(other).key: found for found, other in pairs if found is not None}
        return NoiseFloors(self.path, known)

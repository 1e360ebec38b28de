"""Published results: find their files, and compare a run with them."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from tui.metrics.figures import Latency, latency_of, shown_percentile
from tui.metrics.registry import rate_of_operation
from tui.model.paths import presets_dir
from tui.model.plan import Step
from tui.model.problem import Problem, UsageError, user_text
from tui.model.quantities import parse_duration, parse_size, plain_duration, plain_size
from tui.model.record import RunRecord, Verdict
from tui.model.step_record import StepRecord

if TYPE_CHECKING:
    from tui.model.baseline import Baseline, PublishedFigure, Scalar

Weight = Literal["scaled", "param", "profile", "setup", "note"]
SPAN = re.compile(r"\d+(\.\d+)?(us|ms|s|h|d)|(\d+(us|ms|s|m|h|d)){2,}")
PLACES = ("directory", "filename", "image", "target", "lun_a", "lun_b", "program", "addresses")
OUR_RUN = "this run is"


class Compared(Struct, frozen=True):
    """A published figure and ours.

    `ratio_low`, `ratio_high`: ours / theirs, equal unless the published figure is a range; None if
    unknown.
    """

    figure: PublishedFigure
    ours: float | None
    ratio_low: float | None = None
    ratio_high: float | None = None


class PublishedDifference(Struct, frozen=True):
    """A difference between our setup and the published one, and how much it matters."""

    what: str
    ours: str
    theirs: str
    weight: Weight = "note"

    @property
    def text(self) -> str:
        """The difference as text: ``runtime 3s (published 300s)``."""
        return (
            f"{self.what} {self.ours} (published {self.theirs})"
            if self.theirs
            else f"{self.what} {self.ours}"
        )


class PublishedComparison(Struct, frozen=True):
    """One published result next to our results at the same point.

    Several `steps` are repetitions of that point.
    """

    baseline: Baseline
    steps: tuple[int, ...]
    figures: tuple[Compared, ...]
    differs: tuple[PublishedDifference, ...]
    unknown: tuple[str, ...]
    verdict: Verdict | None = None  # of this run

    @property
    def badge(self) -> str:
        """Whether the ratio may be quoted, in a few words."""
        return badge_of(self)


def tags_of(record: RunRecord) -> set[str]:
    """Return the tags of all profiles of a run: its own, its bases, members of a suite."""
    tags = {tag for step in record.steps for tag in step_tags(record, step)}
    return tags | {record.profile.tag}


def step_tags(record: RunRecord, step: StepRecord) -> list[str]:
    """Return the tags of the profiles that a step measures, the most specific first."""
    extended = record.profile.extends
    return [step.profile] if step.profile else [record.profile.tag, *extended]


def compare(record: RunRecord, baselines: Iterable[Baseline]) -> list[PublishedComparison]:
    """Return each published result with the run's results at its point, in step order."""
    known = [each for each in baselines if each.host is None]
    found = []
    for group in repetitions(record.steps):
        tags = step_tags(record, group[0])
        wanted = [each for each in known if is_of(each, tags) and is_at(each, group[0])]
        found += [comparison(record, group, each) for each in wanted]
    return found


def repetitions(steps: Sequence[StepRecord]) -> list[list[StepRecord]]:
    """Return the steps that measured something, grouped by point, without warm-ups."""
    groups: dict[object, list[StepRecord]] = {}
    for step in steps:
        if (step.results.aggregate or step.metadata is not None) and not step.warmup:
            groups.setdefault(step.cell if step.cell is not None else step.index, []).append(step)
    return list(groups.values())


def is_of(baseline: Baseline, tags: Collection[str]) -> bool:
    """Return whether a published result belongs to one of these profiles."""
    return baseline.profile in tags or any(tag in tags for tag in baseline.variants)


def is_at(baseline: Baseline, step: StepRecord | Step) -> bool:
    """Return whether a step measured the point of a published result."""
    values = {**step.params, **step.point}
    return all(name in values and same(values[name], value) for name, value in baseline.at.items())


def comparison(
    record: RunRecord, steps: Sequence[StepRecord], baseline: Baseline
) -> PublishedComparison:
    """Compare a published result with our repetitions of its point."""
    return PublishedComparison(
        baseline=baseline,
        steps=tuple(step.index for step in steps),
        figures=tuple(
            compared(record, steps, figure) for figure in baseline.figures if figure.metric != "cpu"
        ),
        differs=tuple(differences(record, steps[0], baseline)),
        unknown=tuple(unknown_facts(record, steps[0], baseline)),
        verdict=record.verdict,
    )


# -- figures


def compared(record: RunRecord, steps: Sequence[StepRecord], figure: PublishedFigure) -> Compared:
    """Compare a published figure with ours, the median of repetitions."""
    values = [value for step in steps if (value := our_value(record, step, figure)) is not None]
    if not values:
        return Compared(figure, None)
    ours, theirs = median(values), figure.quantity
    if theirs.low <= 0:
        return Compared(figure, ours)
    return Compared(figure, ours, ours / theirs.high, ours / theirs.low)


def our_value(record: RunRecord, step: StepRecord, figure: PublishedFigure) -> float | None:
    """Return a step's value of a published figure; None if not measured."""
    if figure.metric == "ops":
        return operation_rate(step, figure)
    result = step.results.aggregate.get(figure.of)
    if result is None:
        return operation_rate(step, figure) if figure.metric in ("iops", "bandwidth") else None
    if figure.metric in ("iops", "bandwidth"):
        return result.iops if figure.metric == "iops" else result.bw_bytes_per_s
    kind = figure.kind or record.latency_kind
    latency = result.slat if kind == "slat" else latency_of(result, figure.of, kind)
    return None if latency is None else statistic_of(latency, figure.statistic)


def operation_rate(step: StepRecord, figure: PublishedFigure) -> float | None:
    """Return a statistic of an MPI program's operation, per second or as a bandwidth.

    `figure` names max, min, mean or deviation. None if unknown, or for a bandwidth of an operation
    that moves no bytes.
    """
    found = step.metadata.operations.get(figure.of) if step.metadata is not None else None
    if found is None or (figure.metric != "ops" and not found.bytes_per_op):
        return None
    known = {
        "max": found.max,
        "min": found.min,
        "mean": found.mean,
        "stddev": found.stddev,
        "": found.mean,
    }
    rate = known.get(figure.statistic)
    return rate_of_operation(rate, found.bytes_per_op) if figure.metric == "bandwidth" else rate


def statistic_of(latency: Latency, name: str) -> float | None:
    """Return a statistic of a latency in ns (min, max, mean, stddev or a percentile); None if
    unknown.
    """
    known: dict[str, float | None] = {
        "min": latency.min_ns,
        "max": latency.max_ns,
        "mean": latency.mean_ns,
        "stddev": latency.stddev_ns,
    }
    return (
        known[name] if name in known else shown_percentile(latency, float(name.removeprefix("p")))
    )


# -- differences


def differences(
    record: RunRecord, step: StepRecord, baseline: Baseline
) -> Iterator[PublishedDifference]:
    """Yield differences in setup: parameters, profile, clients, tool; then state and verdict of our
    run.
    """
    yield from param_differences(record, step, baseline)
    yield from profile_differences(record, step, baseline)
    hosts = clients_of(record, step)
    if baseline.hosts is not None and baseline.hosts != hosts:
        yield PublishedDifference("clients", str(hosts), str(baseline.hosts), "setup")
    theirs, ours = baseline.tool.version, tool_versions(record, step)
    if theirs is not None and ours and any(version != theirs for version in ours):
        weight: Weight = (
            "setup" if any(major(version) != major(theirs) for version in ours) else "note"
        )
        assumed = ", assumed by the source" if baseline.tool.assumed else ""
        yield PublishedDifference(baseline.tool.name, ", ".join(ours), theirs + assumed, weight)
    if record.state not in ("complete", "imported"):
        yield PublishedDifference(OUR_RUN, record.state, "", "setup")
    if record.verdict == "invalid":
        yield PublishedDifference(OUR_RUN, "invalid", "", "setup")


def param_differences(
    record: RunRecord, step: StepRecord, baseline: Baseline
) -> Iterator[PublishedDifference]:
    """Yield parameters that differ from the published ones, and changes from the profile's
    defaults.
    """
    for name, theirs in baseline.params.items():
        if name in step.params and not same(step.params[name], theirs):
            less = is_less(step.params[name], theirs)
            yield PublishedDifference(
                name,
                shown_like(step.params[name], theirs),
                str(theirs),
                "scaled" if less else "param",
            )
    kinds = kinds_of(profile_data(record))
    for name, value in record.profile.changed.items():
        if name not in baseline.params and name not in baseline.at and not is_place(name, value):
            ours = written(step.params.get(name, value), kinds.get(name, ""))
            yield PublishedDifference(
                name, f"{ours}, changed from the profile's default", "", "param"
            )


def profile_differences(
    record: RunRecord, step: StepRecord, baseline: Baseline
) -> Iterator[PublishedDifference]:
    """Yield differences in the profile: a variant, a user's own profile, or declared deviations
    from the source.
    """
    tag = step_tags(record, step)[0]
    if tag not in (baseline.profile, *baseline.variants):
        yield PublishedDifference("profile", tag, baseline.profile, "profile")
    elif record.profile.preset is False:
        yield PublishedDifference(
            "profile", "is a user-defined profile of that name", "", "profile"
        )
    if names := deviations_of(profile_data(record)):
        yield PublishedDifference("the profile deviates from the source in", ", ".join(names), "")


def profile_data(record: RunRecord) -> dict[str, Any]:
    """Return a profile's parsed YAML; empty if it is not a mapping."""
    from tui.model.yaml_text import load

    try:
        return load(record.profile.text or "", "").data
    except UsageError:
        return {}


def deviations_of(data: dict[str, Any]) -> list[str]:
    """Return the deviations from its source that a profile declares, each once."""
    found = data.get("deviations")
    entries = found if isinstance(found, list) else []
    return list(
        dict.fromkeys(
            str(each["what"]) for each in entries if isinstance(each, dict) and "what" in each
        )
    )


def kinds_of(data: dict[str, Any]) -> dict[str, str]:
    """Return the type of each parameter that a profile declares."""
    found = data.get("params")
    entries = found if isinstance(found, dict) else {}
    return {
        name: str(each.get("kind", "")) for name, each in entries.items() if isinstance(each, dict)
    }


def unknown_facts(record: RunRecord, step: StepRecord, baseline: Baseline) -> Iterator[str]:
    """Yield facts that the source does not give, with our value if known."""
    ours = {f"{baseline.tool.name} version": ", ".join(tool_versions(record, step))}
    ours["number of clients"] = str(clients_of(record, step))
    for text in dict.fromkeys(baseline.unknown):
        yield f"{text} (ours {ours[text]})" if ours.get(text) else text


def clients_of(record: RunRecord, step: StepRecord) -> int:
    """Return how many hosts a step's figures cover."""
    hosts = next((result.hosts for result in step.results.aggregate.values()), [])
    return len(hosts or step.tasks or record.hosts)


def tool_versions(record: RunRecord, step: StepRecord) -> list[str]:
    """Return the versions of a step's load generator, each once: ``3.33``."""
    if step.metadata is not None:
        return [bare_version(step.metadata.version)] if step.metadata.version else []
    named = [task.tool_version for task in step.tasks.values() if task.tool_version]
    return sorted(
        {bare_version(text) for text in named or record.provenance.tool_versions.values()}
    )


def bare_version(text: str) -> str:
    """Return a version without the name in front: ``3.33`` for ``fio-3.33``."""
    return (
        text.rpartition("-")[2]
        if re.fullmatch(r"[a-z]+-[\d.]+", text)
        else re.sub(r"^[a-z]+[- ]v?(?=\d)", "", text)
    )


def major(version: str) -> str:
    """Return the major version: ``3`` for ``3.33``."""
    return version.partition(".")[0]


def is_place(name: str, value: str) -> bool:
    """Return whether a parameter is the location of the storage, which always differs."""
    return name in PLACES or value.startswith("/")


# -- published and resolved values


def number_of(value: Scalar | None) -> float | None:
    """Return a published value as a number in the record's units.

    4k is converted to bytes, 300s to seconds; None for other texts.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return float(value)
    try:
        return parse_duration(value) if SPAN.fullmatch(value) else float(parse_size(value))
    except ValueError:
        return None


def same(ours: Scalar | None, theirs: Scalar) -> bool:
    """Return whether our parameter equals a published value.

    For paths, only the last component is compared.
    """
    one, other = number_of(ours), number_of(theirs)
    if one is not None and other is not None:
        return one == other
    return str(ours).rpartition("/")[2].lower() == str(theirs).lower()


def written(value: Scalar | None, kind: str) -> str:
    """Return a resolved parameter as people write it."""
    if isinstance(value, int | float) and kind in ("size", "duration"):
        return plain_size(int(value)) if kind == "size" else plain_duration(value)
    return str(value)


def is_less(ours: Scalar | None, theirs: Scalar) -> bool:
    """Return whether our parameter is smaller than the published value."""
    one, other = number_of(ours), number_of(theirs)
    return one is not None and other is not None and one < other


def shown_like(ours: Scalar | None, theirs: Scalar) -> str:
    """Return our parameter in the notation of the published value."""
    if isinstance(theirs, str) and isinstance(ours, int | float) and number_of(theirs) is not None:
        return plain_duration(ours) if SPAN.fullmatch(theirs) else plain_size(int(ours))
    return str(ours)


def badge_of(found: PublishedComparison) -> str:
    """Return in a few words whether the ratio may be quoted.

    Never says that one side is better.
    """
    weights: list[Weight] = ["param", "profile", "setup"]
    invalid = "invalid and " if found.verdict == "invalid" else ""
    if scaled := [_against(each) for each in found.differs if each.weight == "scaled"]:
        return f"{OUR_RUN} {invalid}scaled down: {', '.join(scaled)} (not comparable)"
    if invalid:
        return f"{OUR_RUN} invalid (not comparable)"
    for weight in weights:
        if names := list(
            dict.fromkeys(_name(each) for each in found.differs if each.weight == weight)
        ):
            return f"{' and '.join(names[:2])} (not comparable)"
    if found.baseline.validity == "error":
        return "the published run ended with an error (not comparable)"
    return "setup not fully known" if found.unknown else "same parameters and clients"


def _against(difference: PublishedDifference) -> str:
    return f"{difference.what} {difference.ours} against {difference.theirs}"


def _name(difference: PublishedDifference) -> str:
    if difference.what == OUR_RUN:
        return difference.text
    return f"{difference.what} {'differ' if difference.what.endswith('s') else 'differs'}"


SUFFIXES = (".yaml", ".yml")


class BaselineFiles(Struct, frozen=True):
    """Published results, and the errors of files that could not be read.

    One unreadable file does not hide the others.
    """

    baselines: tuple[Baseline, ...]
    problems: tuple[Problem, ...]

    def of(self, tags: Collection[str]) -> list[Baseline]:
        """Return the published results of these profiles and their variants."""
        return [each for each in self.baselines if is_of(each, tags)]


def find_baselines(user_dir: Path | None, tags: Collection[str] | None = None) -> BaselineFiles:
    """Return all published results, shipped ones first.

    With `tags`, only files that contain one of these are parsed.
    """
    found: list[Baseline] = []
    problems: list[Problem] = []
    for path in _files(user_dir):
        try:
            text = user_text(path)
            if tags is None or any(tag in text for tag in tags):
                found += _parsed(text, str(path))
        except UsageError as error:
            problems += error.problems
    return BaselineFiles(tuple(found), tuple(problems))


@functools.lru_cache(maxsize=64)
def _parsed(text: str, file: str) -> tuple[Baseline, ...]:
    from tui.model.baseline import load_baselines

    return tuple(load_baselines(text, file))


def _files(user_dir: Path | None) -> Iterator[Path]:
    for folder in filter(None, (presets_dir() / "baselines", user_dir)):
        yield from sorted(path for path in folder.glob("*") if path.suffix in SUFFIXES)

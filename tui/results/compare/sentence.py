"""What a comparison comes to in one sentence, for whoever reads no further. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tui.metrics.ranks import LEAST_REPETITIONS
from tui.metrics.registry import METRICS
from tui.results.compare.compare import UNKNOWN_WORDS, Change, Comparison
from tui.results.compare.gate import Difference

if TYPE_CHECKING:
    from tui.results.compare.searches import SearchChange

NAMED = 2  # reasons that stand in the sentence; the rest is listed
VERBS = {"iops": "does", "ops": "does", "bandwidth": "has", "latency": "is"}
WITH_ARTICLE = ("profile", "version", "number", "text")
MORE_RUNS = f"run each {LEAST_REPETITIONS} times (benchtui ab)"
NOISE = "run-to-run noise is unknown"


def sentence(found: Comparison, *, advice: bool = True, name: str = "B") -> str:
    """Return who is better by how much and how surely, or why nobody can tell; `advice`: and what would tell.

    `name`: what is held against A, where there are several.
    """
    if found.word == "not comparable":
        told = as_figures(found, name)
        told = f"; as figures: {told}" if told else ""
        return f"A and {name} cannot be compared: {'; '.join(reasons(found, name))}{told}"
    if found.search is not None:
        return _of_search(found.search, name)
    heads = [each for each in found.changes if each.headline]
    if not heads:
        return "Nobody can tell: the figure that A is about was not measured in both"
    said = [_of_one(heads[0], name) if len(heads) == 1 else _of_points(found, name)]
    if others := sum(each.word == "worse" for each in found.changes if not each.headline and found.word != "worse"):
        said += [f"{others} other figure{' is' if others == 1 else 's are'} worse"]
    return "; ".join([*said, *(_advice(heads) if advice else ())])


def _advice(heads: Sequence[Change]) -> Iterator[str]:
    """Yield what would tell where single measurements stand against each other, and nobody can be sure."""
    if any(len(each.values_a) != 1 or len(each.values_b) != 1 or each.effect is None for each in heads):
        return
    if {each.word for each in heads} <= set(UNKNOWN_WORDS):
        yield MORE_RUNS


def as_figures(found: Comparison, name: str = "B") -> str:
    """Return how far apart figures are that may not be compared; nothing of several points."""
    if found.search is not None:
        return _apart(found.search, f"{name}'s")
    heads = [each for each in found.changes if each.headline]
    return _difference(heads[0], name) if len(heads) == 1 else ""


# -- why not


def reasons(found: Comparison, name: str = "B") -> list[str]:
    """Return why runs are not comparable, the first of many, each in a few words."""
    told = [_reason(each, name) for each in found.obstacles[:NAMED]]
    if not told and found.search is not None:
        told = [found.search.why]
    more = len(found.obstacles) - NAMED
    return [*told, f"{more} more reason{'' if more == 1 else 's'} below"] if more > 0 else told


def reasons_left(found: Comparison) -> Sequence[Difference]:
    """Return the obstacles that the sentence does not name."""
    return found.obstacles[NAMED:]


def _reason(each: Difference, name: str) -> str:
    if not each.a and not each.b:
        return f"{name}{each.what[1:]}" if each.what.startswith("B ") else each.what
    if each.what.startswith("points "):
        return f"they have no point in common (A {each.a}, {name} {each.b})"
    article = "the " if each.what.split()[0] in WITH_ARTICLE else ""
    verb = "differ" if each.what.startswith("I/Os") else "differs"
    return f"{article}{each.what} {verb} ({each.a or 'none'} / {each.b or 'none'})"


# -- one figure


def _of_one(change: Change, name: str) -> str:
    """Return what is said of the one headline."""
    if change.effect is None:
        return _without_effect(change, name)
    apart, over = _difference(change, name), _over(change)
    single = (len(change.values_a), len(change.values_b)) == (1, 1)
    interval = _interval(change.effect.low, change.effect.high)
    if change.word in ("better", "worse"):
        return f"{name} is {change.word}: {_amount(change)}{interval}, {over}"
    if change.within_runs and change.word == "inconclusive":
        interval = _interval(change.effect.low, change.effect.high, "within the runs")
        return f"Inconclusive: {apart}{interval}, {over}: {NOISE}"
    if change.word == "no difference detected":
        why = f", {change.why}" if change.why else ""
        return f"No difference detected: {apart}{interval}{why}, {over}"
    if change.word == "too few repetitions to say" and single:
        return f"{apart}, {over}: too few to be sure"
    if change.word == "too few repetitions to say":
        return f"{apart}, {over}: too few to be sure; {change.why}"
    return f"Inconclusive: {apart}{interval}, {over}: it may be chance"


def _without_effect(change: Change, name: str) -> str:
    """Return what is said where there is no ratio: something was 0, or was not measured, or has no samples."""
    title, metric = change.title, METRICS[change.figure.metric]
    if change.word == "too few samples":
        return f"Nobody can tell: fewer than ten I/Os stand behind {title}"
    if change.word == "not measured":
        sides = [side for side, values in (("A", change.values_a), (name, change.values_b)) if not values]
        return f"Nobody can tell: {title} {'was' if len(sides) == 1 else 'were'} not measured in {' and '.join(sides)}"
    if change.word in ("better", "worse"):
        idle, other = ("A", change.b) if change.b else (name, change.a)
        return f"{name} is {change.word}: {idle} did nothing (0 {title}), the other {metric.with_unit(other)}"
    said = "both did nothing" if change.word == "no difference detected" else change.why
    return f"{change.word.capitalize()}: {said} ({title})"


def _difference(change: Change, name: str) -> str:
    """Return how far one side is from A: ``B does 25 % more read IOPS than A``."""
    if change.change is None:
        return ""
    return f"{name} {VERBS[change.figure.metric]} {_amount(change)}"


def _amount(change: Change) -> str:
    """Return the same without who: ``25 % more read IOPS than A``, ``12 % slower than A in read p99 latency``."""
    share = change.change or 0.0
    if change.figure.metric == "latency":
        if not round(share, 3):
            return f"as fast as A in {change.title}"
        return f"{percent(share)} {'slower' if share > 0 else 'faster'} than A in {change.title}"
    many, fewer = ("much", "less") if change.figure.metric == "bandwidth" else ("many", "fewer")
    if not round(share, 3):
        return f"as {many} {change.title} as A"
    return f"{percent(share)} {'more' if share > 0 else fewer} {change.title} than A"


def percent(share: float) -> str:
    """Return a share without its sign, as people say it: ``25 %``, ``3.1 %``."""
    size = abs(share) * 100
    return f"{size:.1f} %" if size < 9.95 else f"{size:.0f} %"


def _interval(low: float | None, high: float | None, where: str = "") -> str:
    """Return a 95 % interval in brackets; `where`: of what alone it holds."""
    if low is None or high is None:
        return ""
    return f" (95 %{where and f' {where}'}: {(low - 1) * 100:+.1f} to {(high - 1) * 100:+.1f} %)"


def _over(change: Change) -> str:
    """Return how many measurements stand behind a change."""
    a, b = len(change.values_a), len(change.values_b)
    if a == b == 1:
        return "in one measurement each"
    return f"over {a} runs each" if a == b else f"over {a} and {b} runs"


# -- several points


def _of_points(found: Comparison, name: str) -> str:
    """Return at how many points of a matrix one side is what, and where it is so most."""
    heads = {point.name: change for point in found.points if (change := point.headline) is not None}
    count = Counter("unknown" if each.word in UNKNOWN_WORDS else each.word for each in heads.values())
    said = f"Of {len(heads)} points {name} is {', '.join(_counted(count))}"
    told = {point: each for point, each in heads.items() if each.word in ("worse", "better")}
    known = {point: each for point, each in told.items() if each.word == "worse" or not count["worse"]}
    if known:
        most = max(known, key=lambda point: abs(known[point].change or 0.0))
        return f"{said}; most at {most}: {_amount(known[most])}"
    return said


def _counted(count: Counter[str]) -> Iterator[str]:
    texts = {"worse": "worse at", "better": "better at", "no difference detected": "not found to differ at",
             "unknown": "neither for all that is known at"}  # fmt: skip
    yield from (f"{text} {count[word]}" for word, text in texts.items() if count[word])


# -- searches


def _of_search(found: SearchChange, name: str) -> str:
    """Return what is said of two searches."""
    why = f" ({found.why})" if found.why else ""
    if found.ratio.value is None:
        word = f"{name} is {found.word}" if found.word in ("better", "worse") else "Nobody can tell"
        return f"{word}: {found.why or f'no {found.figure} is known of both'}"
    interval, apart = _interval(found.ratio.low, found.ratio.high), _apart(found, f"{name}'s")
    if found.word in ("better", "worse"):
        return f"{name} is {found.word}: {_apart(found, 'its')}{interval}{why}"
    if found.word == "no difference detected":
        return f"No difference detected: {apart}{interval}{why}"
    if found.word == "too few repetitions to say":
        return f"{apart}: too few searches to be sure{why}"
    return f"Inconclusive: {apart}{interval}: it may be chance{why}"


def _apart(found: SearchChange, whose: str) -> str:
    """Return how far the figures of two searches are apart: ``B's capacity is 20 % lower than A's``."""
    if found.ratio.value is None:
        return ""
    share, verb = found.ratio.value - 1, "are" if found.figure.startswith("IOPS") else "is"
    if not round(share, 3):
        return f"{whose} {found.figure} {verb} as high as A's"
    return f"{whose} {found.figure} {verb} {percent(share)} {'higher' if share > 0 else 'lower'} than A's"

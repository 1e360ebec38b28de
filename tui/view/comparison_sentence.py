"""The result of a comparison in one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tui.analysis.compare import UNKNOWN_WORDS, Change, Comparison
from tui.analysis.setup_differences import SetupDifference
from tui.metrics import units
from tui.metrics.registry import METRICS
from tui.metrics.repeat import repetitions_needed
from tui.model.operands import Clause, clause
from tui.text.comparison_texts import comparison_text

if TYPE_CHECKING:
    from tui.analysis.searches import SearchChange

NAMED = 2  # reasons in the sentence; the others are listed below it
VERBS = {"iops": "does", "ops": "does", "bandwidth": "has", "latency": "is", "score": "has"}
WITH_ARTICLE = ("profile", "version", "number", "text")
NOISE = "run-to-run noise is unknown"
# reasons that apply even if the interval excludes 0 %
EXCLUDES_ZERO = ("around-threshold", "not-significant", "within-noise-floor")


def sentence(
    found: Comparison, *, advice: bool = True, name: str = "B", brief: bool = False
) -> str:
    """Return the result of a comparison in one sentence.

    `advice`: also say what to do if it is inconclusive. `name`: the side compared with A, if there
    are several. `brief`: without the interval, which the table has.
    """
    if found.word == "not comparable":
        told = as_figures(found, name)
        told = f"; measured: {told}" if told else ""
        return f"A and {name} cannot be compared: {'; '.join(reasons(found, name))}{told}"
    if found.search is not None:
        return _of_search(found.search, name)
    heads = [each for each in found.changes if each.headline]
    if not heads:
        return "Inconclusive: A's headline was not measured in both runs"
    said = [_of_one(heads[0], name, brief) if len(heads) == 1 else _of_points(found, name)]
    if others := sum(
        each.word == "worse"
        for each in found.changes
        if not each.headline and found.word != "worse"
    ):
        said += [f"{others} other figure{' is' if others == 1 else 's are'} worse"]
    return "; ".join([*said, *(next_step(heads) if advice else ())])


COMMAND = " (benchtui ab)"


def next_step(changes: Sequence[Change], command: str = COMMAND) -> Iterator[str]:
    """Yield what to do if single measurements were compared and the result is inconclusive."""
    heads = [each for each in changes if each.headline]
    if not heads or any(
        len(each.values_a) != 1 or len(each.values_b) != 1 or each.effect is None for each in heads
    ):
        return
    if {each.word for each in heads} <= set(UNKNOWN_WORDS):
        # as many as Review asks for
        yield f"run each {repetitions_needed(len(heads))} times{command}"


def as_figures(found: Comparison, name: str = "B") -> str:
    """Return by how much incomparable runs differ, as text: in the headline, or the search result.

    Empty for several points.
    """
    if found.search is not None:
        return _apart(found.search, f"{name}'s")
    heads = [each for each in found.changes if each.headline]
    return _difference(heads[0], name) if len(heads) == 1 else ""


# -- why not


def reasons(found: Comparison, name: str = "B") -> list[str]:
    """Return the first few reasons why runs are not comparable, and how many more there are."""
    told = [_reason(each, name) for each in found.obstacles[:NAMED]]
    if not told and found.search is not None:
        told = [found.search.why]
    more = len(found.obstacles) - NAMED
    return [*told, f"{units.plural(more, 'more reason')} below"] if more > 0 else told


def reasons_left(found: Comparison) -> Sequence[SetupDifference]:
    """Return the reasons that the sentence does not mention."""
    return found.obstacles[NAMED:]


def _reason(each: SetupDifference, name: str) -> str:
    if each.reason is not None:
        operands = each.reason["operands"]
        side = {"side": name} if operands.get("side") == "B" else {}
        return comparison_text(clause(each.reason["code"], **(operands | side)))
    if each.what.startswith("points "):
        return f"no common point (A {each.a}, {name} {each.b})"
    article = "the " if each.what.split()[0] in WITH_ARTICLE else ""
    verb = "differ" if each.what.startswith("I/Os") else "differs"
    return f"{article}{each.what} {verb} ({each.a or 'none'} / {each.b or 'none'})"


# -- one figure


def _of_one(change: Change, name: str, brief: bool) -> str:
    """Return the result of a comparison with a single headline."""
    if change.effect is None:
        return _without_effect(change, name)
    apart, over = _difference(change, name), _over(change)
    single = (len(change.values_a), len(change.values_b)) == (1, 1)
    if brief and single and change.within_runs and change.word == "inconclusive":
        return f"Inconclusive: {apart}, but {NOISE}"
    interval = "" if brief else _interval(change.effect.low, change.effect.high)
    if change.word in ("better", "worse"):
        return f"{name} is {change.word}: {_amount(change)}{interval}, {over}"
    if change.within_runs and change.word == "inconclusive":
        interval = _interval(change.effect.low, change.effect.high, "within the runs")
        return f"Inconclusive: {apart}{interval}, {over}, but {NOISE}"
    if change.word == "no difference detected":
        return f"{_no_difference(change.reason)}: {apart}{interval}, {over}"
    if change.word == "too few repetitions to say" and single:
        return f"{apart}, {over}: too few runs to decide"
    if change.word == "too few repetitions to say":
        return f"{apart}, {over}: too few runs to decide; {change.why}"
    return f"Inconclusive: {apart}{interval}, {over}: {_why_open(change.reason)}"


def _no_difference(reason: Clause | None) -> str:
    """Return the result for no difference, or for one below the threshold."""
    if reason is None or reason["code"] != "below-threshold":
        return "No difference detected"
    return f"Difference {comparison_text(reason)}"


def _why_open(reason: Clause | None) -> str:
    """Return why a known interval leaves the answer open."""
    told = reason is not None and reason["code"] in EXCLUDES_ZERO
    return comparison_text(reason) if told else "may be noise"


def _without_effect(change: Change, name: str) -> str:
    """Return the result if there is no ratio: a figure is 0, not measured, or has no samples."""
    title, metric = change.title, METRICS[change.figure.metric]
    if change.word == "too few samples":
        return f"Inconclusive: fewer than ten I/Os are slower than the {title}"
    if change.word == "not measured":
        sides = [
            side for side, values in (("A", change.values_a), (name, change.values_b)) if not values
        ]
        return (
            f"Inconclusive: {title} {'was' if len(sides) == 1 else 'were'} not measured in"
            f" {' and '.join(sides)}"
        )
    if change.word in ("better", "worse"):
        idle, busy, other = ("A", name, change.b) if change.b else (name, "A", change.a)
        return (
            f"{name} is {change.word}: {idle} did no I/O (0 {title}), {busy}"
            f" {metric.with_unit(other)}"
        )
    said = "both did no I/O" if change.word == "no difference detected" else change.why
    return f"{change.word.capitalize()}: {said} ({title})"


def _difference(change: Change, name: str) -> str:
    """Return the difference from A with its subject: ``B does 25 % more read IOPS than A``."""
    if change.change is None:
        return ""
    return f"{name} {VERBS[change.figure.metric]} {_amount(change)}"


def _amount(change: Change) -> str:
    """Return the difference without its subject.

    ``25 % more read IOPS than A``, ``12 % slower than A in read p99 latency``."""
    share = change.change or 0.0
    if change.figure.metric == "latency":
        if not round(share, 3):
            return f"as fast as A in {change.title}"
        return f"{percent(share)} {'slower' if share > 0 else 'faster'} than A in {change.title}"
    many, fewer = (
        ("much", "less") if change.figure.metric in ("bandwidth", "score") else ("many", "fewer")
    )
    if not round(share, 3):
        return f"as {many} {change.title} as A"
    return f"{percent(share)} {'more' if share > 0 else fewer} {change.title} than A"


def percent(share: float) -> str:
    """Return a share without its sign: ``25 %``, ``3.1 %``."""
    size = abs(share) * 100
    return f"{size:.1f} %" if size < 9.95 else f"{size:.0f} %"


def _interval(low: float | None, high: float | None, where: str = "") -> str:
    """Return a 95 % interval in brackets; `where` says what it covers."""
    if low is None or high is None:
        return ""
    return f" (95 %{where and f' {where}'}: {(low - 1) * 100:+.1f} to {(high - 1) * 100:+.1f} %)"


def _over(change: Change) -> str:
    """Return the number of runs behind a change: ``over 4 runs each``."""
    a, b = len(change.values_a), len(change.values_b)
    if a == b == 1:
        return "in one run each"
    return f"over {a} runs each" if a == b else f"over {a} and {b} runs"


# -- several points


def _of_points(found: Comparison, name: str) -> str:
    """Return the number of points at which one side is better or worse, and the largest
    difference.
    """
    heads = {point.name: change for point in found.points if (change := point.headline) is not None}
    count = Counter(
        "unknown" if each.word in UNKNOWN_WORDS else each.word for each in heads.values()
    )
    known_points, open_points = ", ".join(_counted(count)), count["unknown"]
    parts = [f"{name} is {known_points}"] if known_points else []
    if open_points:
        parts += [f"{open_points} {'is' if open_points == 1 else 'are'} inconclusive"]
    said = f"Of {len(heads)} points, {'; '.join(parts)}"
    told = {point: each for point, each in heads.items() if each.word in ("worse", "better")}
    known = {
        point: each for point, each in told.items() if each.word == "worse" or not count["worse"]
    }
    if known:
        most = max(known, key=lambda point: abs(known[point].change or 0.0))
        return f"{said}; largest difference at {most}: {_amount(known[most])}"
    return said


def _counted(count: Counter[str]) -> Iterator[str]:
    texts = {"worse": "worse at", "better": "better at",
        "no difference detected": "unchanged at"}  # fmt: skip
    yield from (f"{text} {count[word]}" for word, text in texts.items() if count[word])


# -- searches


def _of_search(found: SearchChange, name: str) -> str:
    """Return the result of comparing two searches as a sentence."""
    why = f" ({found.why})" if found.why else ""
    if found.ratio.value is None:
        word = f"{name} is {found.word}" if found.word in ("better", "worse") else "Inconclusive"
        return f"{word}: {found.why or f'no {found.figure} in one of the searches'}"
    interval, apart = _interval(found.ratio.low, found.ratio.high), _apart(found, f"{name}'s")
    if found.word in ("better", "worse"):
        return f"{name} is {found.word}: {_apart(found, 'its')}{interval}{why}"
    if found.word == "no difference detected":
        if found.reason is not None and found.reason["code"] == "below-threshold":
            return f"{_no_difference(found.reason)}: {apart}{interval}"
        return f"No difference detected: {apart}{interval}{why}"
    if found.word == "too few repetitions to say":
        return f"{apart}: too few searches to decide{why}"
    if found.reason is not None and found.reason["code"] in EXCLUDES_ZERO:
        return f"Inconclusive: {apart}{interval}: {found.why}"
    return f"Inconclusive: {apart}{interval}: may be noise{why}"


def _apart(found: SearchChange, whose: str) -> str:
    """Return the difference of two searches: ``B's capacity is 20 % lower than A's``."""
    if found.ratio.value is None:
        return ""
    share, verb = found.ratio.value - 1, "are" if found.figure.startswith("IOPS") else "is"
    if not round(share, 3):
        return f"{whose} {found.figure} {verb} as high as A's"
    return (
        f"{whose} {found.figure} {verb} {percent(share)} "
        f"{'higher' if share > 0 else 'lower'} than A's"
    )

"""Result: the figures of a run as tiles, its verdict, its bottleneck."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from msgspec.structs import replace as replaced

from tui.app.screens.result_details import lagging_text, spread_of_hosts
from tui.app.screens.result_page import Page
from tui.app.widgets.graph_panels import KEYS
from tui.judge.severity import OUTSIDE_STORAGE, by_weight
from tui.judge.wording import bottleneck_text as limit_text
from tui.judge.wording import name_of, proof_text, worded
from tui.metrics import units
from tui.metrics.figures import Latency, latency_of, marked, shown_percentile
from tui.metrics.histogram import Histogram
from tui.metrics.registry import (
    BOTH,
    BY_UNIT,
    METRICS,
    MIXED,
    direction,
    each_io_once,
    meaning,
    metric_of_operation,
    rate_of_operation,
)
from tui.record.headline import told_headline
from tui.record.matrix import of_which
from tui.record.search_figures import rate_of, rate_unit
from tui.text.digits import FigureTile, tile_lines
from tui.text.line import LABEL, TEXT, VALUE, Line, Run, clip, labelled
from tui.text.run_texts import run_text
from tui.text.search import caveats, headline_text
from tui.view.step_notes import (
    measured_nothing,
    ran_text,
    thresholds_text,
    unjudged_text,
    verdict_text,
)

if TYPE_CHECKING:
    from tui.model.figure_record import AggregateRecord
    from tui.model.record import HeadlineRecord, RunRecord
    from tui.model.search_record import SearchRecord
    from tui.model.step_record import MetadataRecord, ProofRecord, StepRecord

MEDIAN, TAIL = 50.0, 99.0
# of an MPI benchmark, before all others
FIRST_OPERATIONS = ("write", "create", "stat", "read", "remove")
# tiles with the highest number are dropped first: the median host, a percentile, a second rate
SECOND, LAST, OF_HOST = 1, 2, 3
MORE = "; the storage may do more"
STRAGGLER = "straggler"


def headline(page: Page, width: int) -> list[Line]:
    """Return the figures in large digits, with verdict and bottleneck."""
    found = page.shown_headline
    tiles = figure_tiles(page)
    lines = tile_lines(tiles, width, page.symbols)
    if not tiles and (found is not None or page.shown_matrix is None):
        lines = [Line.of(*clip([(headline_parts(page)[2], VALUE)], width))]
    if page.shown_matrix is not None and found is not None and found.step is not None:
        which = of_which(page.shown_matrix.cells, found.step, found.unit)
        what = meaning(found, page.record.requests_of(found.step))
        lines.append(
            Line.of(*clip([(f"{what}, {which}: ", LABEL), (best_name(page), TEXT)], width))
        )
    if tiles and found is not None and page.record.search is not None:
        # with its limit; the line below says whether it was confirmed
        answer = headline_text(page.record.search, so_far=True) or told_headline(page.record)
        lines.append(Line.of(*clip([(answer, VALUE)], width)))
    verdict, limit = verdict_lines(page, width), bottleneck_lines(page, width)
    return [*lines, *limit, *verdict] if is_spoilt(page) else [*lines, *verdict, *limit]


def figure_tiles(page: Page) -> list[FigureTile]:
    """Return rate, bandwidth, two percentiles and the median host's rate as tiles.

    They cover the current step (for a matrix, the headline's step), in the direction of the
    headline or, without one, over all directions. An MPI benchmark has a tile per operation.
    """
    found = page.shown_headline
    if found is not None and found.value is None and page.record.search is not None:
        return []  # shown in words: there is no number
    if page.shown_matrix is not None:
        if found is None or found.step is None:
            return []  # a suite: each row has its own
        page = replace(page, inside=True, step=found.step, job=None)
    step = page.shown_step
    if step is None:
        return []
    if step.metadata is not None:
        return operation_tiles(step.metadata, found)
    kind = page.record.latency_kind_of(step)
    dirs = page.all_hosts
    named = found.direction if found is not None and found.direction in dirs else ""
    subject = {named: dirs[named]} if named else dict(dirs)
    shown = shown_percentiles(page.record.search, found)
    search = page.record.search
    between = search is not None and search.kind == "capacity"  # the headline, not the point shown
    rates = rate_tiles(step, subject, named)
    latencies = latency_tiles(subject, kind, shown)
    if rate := answer_rate(page):
        titles = [each.title.replace("latency", rate) for each in latencies]
        latencies = [replaced(a, title=b) for a, b in zip(latencies, titles, strict=True)]
    tiles = [*(rates[:1] if between else rates), *latencies]
    tiles += [] if between else host_tile(page)
    if found is None or page.shown_job is not None:
        return tiles
    own = headline_tile(page, found)
    at = next((place for place, tile in enumerate(tiles) if own.title.endswith(tile.title)), None)
    at = 0 if found.metric in ("iops", "ops") and tiles else at
    if at is None:
        return [own, *tiles] if found.value is not None else tiles
    return [*tiles[:at], own, *tiles[at + 1 :]]


def answer_rate(page: Page) -> str:
    """Return the rate of the point whose latencies are shown for a capacity: ``at 46.4k``.

    The capacity is an estimate between points. Empty if the page shows something else.
    """
    search, step = page.record.search, page.shown_step
    if search is None or search.kind != "capacity" or step is None:
        return ""
    point = next((each for each in search.points if each.step == step.index), None)
    if point is None:
        return ""
    return f"at {BY_UNIT[rate_unit(search)].text(rate_of(search, point))}"


def headline_tile(page: Page, found: HeadlineRecord) -> FigureTile:
    """Return the tile of the headline, in the colour of its direction."""
    number, unit, _ = headline_parts(page)
    named = meaning(found, page.record.requests_of(found.step))
    search = page.record.search
    is_capacity = search is not None and search.kind == "capacity"
    return FigureTile(
        f"capacity, {named}" if is_capacity else named,
        number,
        unit.removesuffix(" IOPS").removesuffix("IOPS"),
        KEYS.get(found.direction, "read"),
    )


def rate_tiles(
    step: StepRecord, dirs: Mapping[str, AggregateRecord], named: str
) -> list[FigureTile]:
    """Return rate and bandwidth as tiles, for one direction or summed over several."""
    summed = (
        [MIXED]
        if MIXED in dirs
        else [name for name in dirs if direction(name).in_total or name == named]
    )
    if not summed:
        return []
    counted = {direction(name).counted for name in summed}
    who = f"{step.called(summed[0])} " if len(summed) == 1 else ""
    number, unit = units.iops_parts(_sum(dirs[name].iops for name in summed))
    tiles = [
        FigureTile(
            f"{who}{counted.pop() if len(counted) == 1 else 'IOPS'}", number, unit, drop=SECOND
        )
    ]
    moving = [name for name in summed if direction(name).moves_data]
    if moving:
        number, unit = units.bandwidth_parts(_sum(dirs[name].bw_bytes_per_s for name in moving))
        tiles.append(FigureTile("bandwidth", number, unit, drop=SECOND))
    return tiles


def host_tile(page: Page) -> list[FigureTile]:
    """Return the rate of the median host as a tile; empty for one host."""
    middle = spread_of_hosts(page).middle
    if middle is None:
        return []
    counted = {direction(name).counted for name in page.all_hosts if direction(name).in_total}
    what = counted.pop() if len(counted) == 1 else "IOPS"
    return [FigureTile(f"{what}, median host", *units.iops_parts(middle), drop=OF_HOST)]


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def shown_percentiles(search: SearchRecord | None, found: HeadlineRecord | None) -> list[float]:
    """Return the percentiles shown as tiles, in ascending order: the median and p99.

    If a limit of the search is another percentile, that percentile replaces the median. If the
    headline is a mean or another percentile, it has its own tile, which replaces the median.
    """
    for limit in search.limits if search is not None else ():
        if limit.percentile is not None and limit.percentile not in (MEDIAN, TAIL):
            return sorted([limit.percentile, TAIL])
    is_other = (
        found is not None and found.metric == "latency" and found.percentile not in (MEDIAN, TAIL)
    )
    return [TAIL] if is_other else [MEDIAN, TAIL]


def latency_tiles(
    dirs: Mapping[str, AggregateRecord], kind: str, percentiles: Sequence[float]
) -> list[FigureTile]:
    """Return percentiles as tiles; the last one is never dropped."""
    names = each_io_once(dirs) or list(dirs)
    if BOTH in dirs:
        names = [BOTH]
    known = {
        name: each
        for name in names
        if (each := latency_of(dirs[name], name, kind)) is not None and each.n
    }
    *others, last = percentiles
    return [
        *(tile for each in others for tile in percentile_tile(known, each, LAST)),
        *percentile_tile(known, last, 0),
    ]


def percentile_tile(known: Mapping[str, Latency], percentile: float, drop: int) -> list[FigureTile]:
    """Return a percentile over all directions as a tile.

    Without buckets to merge, it is the slowest direction's percentile.
    """
    if not known:
        return []
    title = f"p{percentile:g} latency"
    if len(known) == 1:
        (each,) = known.values()
        value = shown_percentile(each, percentile)
        if value is None:  # no histogram: the mean replaces the tail
            return [] if drop else [FigureTile("mean latency", *units.latency_parts(each.mean_ns))]
        return [FigureTile(title, *units.latency_parts(value), drop=drop)]
    value = merged_percentile(list(known.values()), percentile)
    if value is None:
        slowest, value = max(((name, shown_percentile(each, percentile) or 0) for name,
            each in known.items()),
                             key=lambda pair: pair[1])  # fmt: skip
        title = f"{slowest} {title}"
    return [FigureTile(title, *units.latency_parts(value), drop=drop)]


def merged_percentile(parts: Sequence[Latency], percentile: float) -> int | None:
    """Return a percentile over the I/Os of all parts, in ns.

    None if a part has no buckets.
    """
    together = Histogram()
    for part in parts:
        if part.buckets is None:
            return None
        together.merge(Histogram.from_buckets(part.buckets))
    return marked(together.percentile(percentile), together.total, percentile)


def operation_tiles(metadata: MetadataRecord, found: HeadlineRecord | None) -> list[FigureTile]:
    """Return the tool's scores and each operation's mean rate as tiles.

    Common operations come first; the headline is coloured.
    """
    from tui.view.operations import colour_of

    score, tiles = METRICS["score"], []
    for name, value in metadata.scores.items():
        own = found is not None and (found.metric, found.direction) == ("score", name)
        tiles.append(
            FigureTile(
                f"{name} score", *score.parts(value), "read" if own else VALUE, drop=0 if own else 1
            )
        )
    order = [
        *(name for name in FIRST_OPERATIONS if name in metadata.operations),
        *metadata.operations,
    ]
    for place, name in enumerate(dict.fromkeys(order)):
        own = found is not None and found.direction == name
        each = metadata.operations[name]
        metric = metric_of_operation(each.bytes_per_op)
        number, unit = metric.parts(rate_of_operation(each.mean, each.bytes_per_op))
        title = f"{name} {metric.counted or metric.title}"
        tiles.append(
            FigureTile(
                title, number, unit, colour_of(name, VALUE), drop=0 if own else place + 1
            )
        )
    return tiles


# -- verdict and bottleneck


def verdict_lines(page: Page, width: int) -> list[Line]:
    """Return the verdict in one line, in full if it is bad or the run is incomplete.

    Otherwise these follow if they fit: how the run ended, changed thresholds, and how many checks
    ran. A verdict that differs from the sealed one has a line of its own, so that it is never
    truncated.
    """
    from tui.text.comparison_texts import NOT_AS_SEALED

    record = page.record
    (mark, key), (text, _) = judgement(record)
    text = naming_checks(page, text, width - len(mark))
    above: list[Line] = []
    if record.not_as_sealed:
        above = labelled([("! ", "warn")], [(NOT_AS_SEALED, "warn")], width)
    elif key == "bad" or record.state != "complete":
        ran = ran_text(record)
        return labelled([(mark, key)], [(text, key), (f"; {ran}" if ran else "", LABEL)], width)
    parts, room = text.split("; "), width - len(mark)
    kept = next((n for n in range(len(parts), 1, -1) if len("; ".join(parts[:n])) <= room), 1)
    said = "; ".join(parts[:kept])
    told = (ran_text(record), ran_text(record, brief=True)) if kept == len(parts) else ()
    ran = next((each for each in told if each and len(said) + 2 + len(each) <= room), "")
    if key == "warn" and 1 < kept == len(parts):  # that all hosts reported is no warning
        said, ran = "; ".join(parts[:-1]), "; ".join([parts[-1], *([ran] if ran else [])])
    tail: Run = (f"; {ran}" if ran else "", LABEL)
    return [*above, Line.of(*clip([(mark, key), (said, key), tail], width))]


def naming_checks(page: Page, text: str, room: int) -> str:
    """Return a verdict with the names of its errors and warnings in place of their number.

    ``valid with warnings: straggler h2 at 25 % of median, 1 note; ...``. Unchanged if they do not
    fit.
    """
    from tui.view.step_notes import found_text

    found = page.record.findings
    severities = [each.severity for each in found]
    wrong = (each for each in by_weight(found) if each.severity != "info")
    checks = list(dict.fromkeys(each.id for each in wrong))
    notes = severities.count("info")
    others = [units.plural(notes, "note")] if notes else []
    counted = f": {found_text(severities)}"
    slow = lagging_text(page)
    for more in (slow, ""):
        names = [f"{name_of(each)}{more if each == STRAGGLER else ''}" for each in checks]
        said = text.replace(counted, f": {', '.join([*names, *others])}", 1) if names else text
        if len(said.partition("; ")[0]) <= room:
            return said
    return text


def is_spoilt(page: Page) -> bool:
    """Return whether something outside of the storage limits the shown step."""
    step = page.shown_step
    if step is None or step.bottleneck is None or page.record.search is not None:
        return False
    return bool(bottleneck_text(page)) and step.bottleneck.kind in OUTSIDE_STORAGE


def bottleneck_lines(page: Page, width: int) -> list[Line]:
    """Return the bottleneck, and the result of its counter-experiment, if any.

    This is the bottleneck of the current step or, for a search, of the answer. A bottleneck outside
    of the storage is marked: the figures are not the storage's limit.
    """
    bottleneck = bottleneck_text(page)
    said: list[Run] = [("limited by ", LABEL), (bottleneck, TEXT)]
    if is_spoilt(page):
        text = f"limited by {bottleneck}"
        more = MORE if len(text) + len(MORE) + 2 <= width else ""
        said = [("! ", "warn"), (text + more, "warn")]
    lines = labelled(said[:1], said[1:], width) if bottleneck else []
    step = page.shown_step if page.shown_matrix is None else None
    if step is not None and (why := unjudged_text(step)):
        lines = [Line.of(*clip([("bottleneck ", LABEL), (why, TEXT)], width))]
    return [*lines, *proved(proof_of(page), width)]


def bottleneck_text(page: Page) -> str:
    """Return the current step's bottleneck; for a search, the answer step's.

    Empty if unknown.
    """
    search, step = page.record.search, page.shown_step
    if search is not None:
        return worded(search.answer.bottleneck) if search.answer is not None else ""
    return (
        limit_text(step.bottleneck, len(step.results.per_host))
        if step is not None and step.bottleneck is not None and page.shown_matrix is None
        else ""
    )


def proof_of(page: Page) -> ProofRecord | None:
    """Return the counter-experiment on the current step's bottleneck; None without one."""
    bottleneck = (
        page.shown_step.bottleneck
        if page.shown_step is not None and page.shown_matrix is None
        else None
    )
    return bottleneck.proof if bottleneck is not None else None


def best_name(page: Page) -> str:
    """Return the name of the matrix point that the headline is from."""
    step, matrix = page.record.headline.step if page.record.headline else None, page.shown_matrix
    return (
        next((cell.name for cell in matrix.cells if step in cell.steps), "")
        if matrix is not None
        else ""
    )


def headline_parts(page: Page) -> tuple[str, str, str]:
    """Return number, unit and name of the headline: ``390``, ``k IOPS``, ``read``."""
    found = page.shown_headline
    if found is None or measured_nothing(page.record):
        return (
            "–",
            "",
            "no headline" if not measured_nothing(page.record) else "nothing was measured",
        )
    few = found.behind is not None and found.behind < units.TAIL_SAMPLES and found.value is not None
    number, unit = METRICS[found.metric].split(units.Few(found.value or 0) if few else found.value)
    what = (
        told_headline(page.record)
        if page.record.search is not None
        else meaning(found, page.record.requests_of(found.step))
    )
    if page.record.search is not None:
        return number, unit, what
    return number, unit, what if found.value is not None else f"{what} was not measured"


def judgement(record: RunRecord) -> list[Run]:
    """Return the mark and the text of the verdict, with how the run ended."""
    fine = record.verdict in ("valid", None) and not record.not_as_sealed
    fine = fine and not caveats(record.search)
    words = {"complete": ("all hosts reported", "good" if fine else "warn")}
    why = run_text(record.reason) or f"the run is {record.state}"
    text, key = words.get(record.state, (why, "warn"))
    if record.state == "failed" or record.verdict == "invalid":
        key = "bad"
    changed = thresholds_text(record) if record.verdict is not None else ""
    parts = (verdict_text(record), changed, text)
    text = "; ".join(part for part in parts if part)
    return [("✓ " if key == "good" else "! " if key == "warn" else "✗ ", key), (text, key)]


def proved(proof: ProofRecord | None, width: int) -> list[Line]:
    """Return the result of a counter-experiment; empty without one."""
    if proof is None:
        return []
    mark, key = {"agreed": ("✓ ", "good"), "disagreed": ("! ", "warn")}.get(
        proof.outcome, ("· ", LABEL)
    )
    return labelled([(mark, key)], [(f"counter-experiment {proof_text(proof)}", LABEL)], width)

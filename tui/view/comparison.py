"""A comparison as lines of text: the sentence of its result, both sides, figures, method."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tui.analysis.compare import Change, Comparison, PointChange, Word
from tui.analysis.criteria import JudgedCriterion
from tui.analysis.setup_differences import SetupDifference
from tui.analysis.stats import ALPHA
from tui.metrics import units
from tui.metrics.registry import METRICS
from tui.model.record import RunRecord
from tui.text.line import (
    ACCENT,
    BAD,
    BRIGHT,
    GOOD,
    HEADING,
    LABEL,
    TEXT,
    WARN,
    Line,
    Run,
    clip,
    indented,
    labelled,
    spread,
    width_of_runs,
)
from tui.text.plot import SIDES
from tui.text.table import Column, measured, text_table
from tui.view.comparison_sentence import NOISE, reasons_left, sentence
from tui.view.interval_bars import interval_bars
from tui.view.step_notes import VERDICTS

ROOMY_FROM = 100  # minimum columns to show everything about both sides above the figures


ROLES: dict[Word, str] = {
    "better": GOOD,
    "worse": BAD,
    "no difference detected": TEXT,
    "inconclusive": WARN,
    "too few repetitions to say": WARN,
    "not comparable": BAD,
}
SURE: dict[Word, str] = {"better": GOOD, "worse": BAD}
BRIEF: dict[Word, str] = {
    "too few repetitions to say": "too few",
    "no difference detected": "no difference",
}
METHODS = {
    "repetitions": (
        "repetitions: Mann-Whitney U test over the runs; intervals: difference between A's runs"
        " and B's"
    ),
    "within one run": (
        "one run each: the intervals show how steady each run was from second to second (or"
        " between iterations), not run-to-run noise; repeat the runs, or measure that noise with"
        " benchtui noise"
    ),
    "one run, order statistics": (
        "single runs: percentile intervals are based on the number of slower I/Os"
    ),
    "one run, noise floor": (
        "single runs: interval from the measured noise floor, or from the spread within the runs "
        "if that is wider"
    ),
}
WITHIN = "* within each run: run-to-run noise is not included"
BRIEFLY = {
    "repetitions": "tested by Mann-Whitney U over the runs",
    "within one run": WITHIN,
    "one run, order statistics": WITHIN,
    "one run, noise floor": "intervals from the measured noise floor",
}
HOLM = "the headline is tested alone; other figures are tested together and need stronger evidence"
GAP = 2  # before the bars of a table


def comparison_lines(
    found: Comparison,
    width: int | None,
    *,
    every: bool = False,
    advice: bool = True,
) -> list[Line]:
    """Return a comparison: answer, runs, differences in setup, headlines, figures, method.

    `every` includes all figures of all points of a matrix. `advice`: say what to do if the result
    is inconclusive.
    """
    return [
        *answer_lines(found, width or 120, advice=advice),
        *figure_lines(found, width, every=every),
        *method_lines(found, width or 120),
    ]


def figure_lines(found: Comparison, width: int | None, *, every: bool = False) -> list[Line]:
    """Return differences in setup, headlines and figures; with `every`, those of all points."""
    room = width or 120
    gap = [] if room < ROOMY_FROM else [Line()]
    lines = [*gap, *gate_lines(found, room), Line()]
    if found.search is not None:
        from tui.analysis.searches import search_lines

        return [*lines, *search_lines(found.search, room)]
    single = len(found.points) == 1
    if not single and found.points:
        lines += [*_headlines(found, width), *_beside(found, room)]
    if single or every:
        for point in found.points:
            lines += [
                *([Line(), Line.of((point.name, HEADING))] if not single else []),
                *_figures(point, width),
            ]
    return lines


def method_lines(found: Comparison, width: int) -> list[Line]:
    """Return how changes were tested, after an empty line; empty if none were tested."""
    if found.search is not None or not (methods := list(_methods(found, width))):
        return []
    return [Line(), *methods]


def method_line(found: Comparison, width: int) -> list[Line]:
    """Return in one line how changes were tested, with the key that explains it; empty if none
    were tested.
    """
    used = [
        each.effect.method for each in found.changes if each.effect and each.effect.p is not None
    ]
    if found.search is not None or not used:
        return []
    text = "; ".join(dict.fromkeys(BRIEFLY[method] for method in used))
    keys: list[Run] = [("m", ACCENT), (" method", LABEL)]
    room = width - width_of_runs(keys) - 2
    return [Line.of(*spread(clip([(text, LABEL)], room), keys, width))]


def answer_lines(
    found: Comparison,
    width: int,
    *,
    advice: bool = True,
    titles: Mapping[str, str] | None = None,
) -> list[Line]:
    """Return the result sentence, and the runs of both sides; `titles`: titles of runs, by ID.

    If the sentence is too long, the unknown noise of single runs is on a line of its own.
    """
    within = any(each.headline and each.within_runs for each in found.changes)
    text = sentence(found, advice=advice, brief=within or width < ROOMY_FROM)
    role = ROLES.get(found.word, BRIGHT)
    head, unknown, rest = text.partition(f", but {NOISE}")
    parts = [f"{head},", f"but {NOISE}{rest}"] if unknown and len(text) > width else [text]
    said = [line for part in parts for line in indented([(part, role)], width, 0)]
    return [*said, *_sides(found, width, titles or {})]


def _sides(found: Comparison, width: int, titles: Mapping[str, str]) -> Iterator[Line]:
    sides = [
        ([(f"{name}  ", role)], record, titles.get(record.run_id, ""))
        for name, role, records in zip("AB", SIDES, (found.a, found.b), strict=False)
        for record in records
    ]
    brief = width < ROOMY_FROM
    names_profile = not brief or all(
        width_of_runs([*label, *side_runs(record, title, brief=True)]) <= width
        for label, record, title in sides
    )
    for label, record, title in sides:
        runs = side_runs(record, title, brief=brief, names_profile=names_profile)
        yield from labelled(label, runs, width)


def side_runs(
    record: RunRecord, title: str = "", *, brief: bool = False, names_profile: bool = True
) -> list[Run]:
    """Return the text of one run: start, title, profile, hosts, state, verdict, id.

    `brief`: without the id if the start is known; what differs between runs is listed below them.
    """
    hosts = units.plural(len(record.hosts), "host")
    profile = [record.profile.tag] if names_profile else []
    state = [] if record.state == "complete" and record.verdict else [record.state]
    said = [*profile, hosts, *state]
    begun = when(record)
    verdict = VERDICTS.get(record.verdict or "", "")
    role = (
        BAD
        if record.verdict == "invalid"
        else WARN
        if record.verdict == "valid-with-warnings"
        else LABEL
    )
    runs: list[Run] = [
        (begun or record.run_id, BRIGHT),
        (f"  {title}" if title else "", BRIGHT),
        (f"  {', '.join(said)}", TEXT),
        (f", {verdict}" if verdict else "", role),
    ]
    return runs if brief or not begun else [*runs, (f"  {record.run_id}", LABEL)]


def when(record: RunRecord) -> str:
    """Return when a run started, to the minute, in UTC; empty if unknown."""
    return (record.created_utc or "").replace("T", " ")[:16]


def gate_lines(found: Comparison, width: int) -> list[Line]:
    """Return the differences in setup, first those that prevent a comparison.

    Differences that the sentence mentions are left out. If none remain, one line says so.
    """
    lines: list[Line] = []
    mattering = [
        each
        for each in found.gate
        if not each.blocks and each.matters and each.what not in found.across
    ]
    varied = [each for each in found.gate if each.what in found.across and not each.blocks]
    rest = [
        each
        for each in found.gate
        if not each.blocks and not each.matters and each.what not in found.across
    ]
    for label, role, parts in (
        ("not comparable", BAD, reasons_left(found)),
        ("compared", BRIGHT, varied),
        ("differs", WARN, mattering),
        ("also differs", LABEL, rest),
    ):
        lines += _listed(label, role, parts, width)
    if lines or found.obstacles:
        return lines or indented([("no other known differences", LABEL)], width, 0)
    return indented([("same profile, parameters, hosts, tools and verdicts", LABEL)], width, 0)


def _listed(label: str, role: str, parts: Sequence[SetupDifference], width: int) -> Iterator[Line]:
    for at, each in enumerate(parts):
        yield from labelled(
            [(f"{label if at == 0 else '':<16}", LABEL)], [(each.text, role)], width
        )


def _figures(point: PointChange, width: int | None) -> list[Line]:
    """Return the table of all figures of a point, the headline first and highlighted.

    A direction that all figures share is the heading if the room is short.
    """
    names = {each.title.partition(" ")[0] for each in point.changes if " " in each.title}
    narrow = width is not None and width < ROOMY_FROM and len(point.changes) > 1
    shared = names.pop() if narrow and len(names) == 1 else ""

    def titled(change: Change) -> Run:
        return change.title.removeprefix(f"{shared} "), BRIGHT if change.headline else TEXT

    head = point.headline
    # the answer has it
    told = head is not None and head.word == "inconclusive" and head.within_runs
    return _table([Column(shared or "figure", titled)], point.changes, width, told=told)


def _table(
    first: Sequence[Column[Change]],
    rows: Sequence[Change],
    width: int | None,
    *,
    told: bool = False,
) -> list[Line]:
    """Return a table of changes.

    Words that apply to all rows, and reasons too long for a column, are below the table, each once.
    `told`: words that apply to all rows are above it already.
    """
    shared = _shared_words(rows)
    columns = [*first, *_columns(rows, words=shared is None)]
    if width is not None:
        room = width - _cells(columns, rows) - GAP
        columns[len(columns) - (shared is None) :] = [
            *interval_bars(rows, bar_role, drop=5, width=room),
            *columns[len(columns) - (shared is None) :],
        ]
    least = [column for column in columns if not column.drop]
    whole = _cells(least, rows)
    if shared is not None:
        below = indented([(shared, LABEL)], width or 120, 0) if shared and not told else []
        return [*text_table(columns, rows, width), *below]
    if width is None or whole <= width:
        return text_table(columns, rows, width)
    columns[-1] = Column("", lambda each: word_runs(each)[:1])
    known = measured([*least[:-1], columns[-1]], rows)
    brief = _cells(known, rows) > width
    if brief:
        columns[-1] = Column("", brief_run)
    said = [(each.word, each.why) for each in rows if each.why or (brief and each.word in BRIEF)]
    reasons = dict.fromkeys(f"{word}: {why}" if why else word for word, why in said)
    below = [line for text in reasons for line in indented([(text, LABEL)], width, 0)]
    return [*text_table(columns, rows, width), *below]


def _cells(columns: Sequence[Column[Change]], rows: Sequence[Change]) -> int:
    """Return the width of a table."""
    known = measured(columns, rows)
    return sum(column.width + column.gap for column in known) - known[0].gap


def _shared_words(changes: Sequence[Change]) -> str | None:
    """Return the result that applies to every figure, to print it once.

    None if results differ, or for one figure. Empty if runs are not comparable: the answer says so.
    """
    said = {(each.word, each.why) for each in changes}
    if len(said) != 1 or (len(changes) < 2 and changes[0].word != "not comparable"):
        return None
    ((word, why),) = said
    return "" if word == "not comparable" else f"{word}: {why or 'every figure'}"


def _headlines(found: Comparison, width: int | None) -> list[Line]:
    """Return a table of the headlines of all points of a matrix."""
    rows = [
        (point.name, change) for point in found.points if (change := point.headline) is not None
    ]
    names = {id(change): name for name, change in rows}
    columns: list[Column[Change]] = [
        Column("point", lambda each: (names[id(each)], BRIGHT)),
        Column("figure", lambda each: each.title, drop=2),
    ]  # fmt: skip
    return _table(columns, [change for _, change in rows], width)


def _columns(rows: Sequence[Change], *, words: bool) -> list[Column[Change]]:
    """Return the columns of a change table.

    Intervals are shown only if there are any, counts only if they differ from those in the answer.
    """
    intervals = any(interval_text(each) != units.UNKNOWN for each in rows)
    counts = len({counts_text(each) for each in rows}) > 1
    within = all(each.within_runs for each in rows if each.effect is not None)
    return [
        Column("A", lambda each: cell_text(each, each.a), right=True),
        Column("B", lambda each: cell_text(each, each.b), right=True),
        Column("change", lambda each: (signed(each.change), change_role(each)), right=True),
        *(
            [
                Column[Change](
                    f"95 % interval{'*' if within else ''}",
                    lambda each: (interval_text(each), change_role(each)),
                    drop=3,
                    right=True,
                )
            ]
            if intervals
            else []
        ),
        *([Column[Change]("n", counts_text, drop=4, right=True, role=LABEL)] if counts else []),
        *([Column("", word_runs)] if words else []),
    ]


def figure_text(change: Change, value: float | None) -> str:
    """Return one side's figure with its unit: ``390k IOPS``, ``1.20 ms``, ``n<10``."""
    return METRICS[change.figure.metric].with_unit(value)


def cell_text(change: Change, value: float | None) -> str:
    """Return a side's figure for a table whose rows say what is counted: ``390k``, ``1.20 ms``."""
    return METRICS[change.figure.metric].text(value)


def signed(share: float | None) -> str:
    """Return a change with its sign: ``+3.1 %``."""
    return units.UNKNOWN if share is None else f"{share * 100:+.1f} %"


def change_role(change: Change) -> str:
    """Return the role of a change: a colour if it is certain, dim if there may be no change."""
    return SURE.get(change.word) or (BRIGHT if excludes_none(change) else LABEL)


def bar_role(change: Change) -> str:
    """Return the role of a change's bar: as `change_role`, but B's colour instead of BRIGHT."""
    return SURE.get(change.word) or (SIDES[1] if excludes_none(change) else LABEL)


def excludes_none(change: Change) -> bool:
    """Return whether the interval of a change does not contain 0."""
    effect = change.effect
    if effect is None or effect.low is None or effect.high is None:
        return False
    return not effect.low <= 1 <= effect.high


def interval_text(change: Change) -> str:
    """Return the interval of a change: ``+1.2 … +5.0 %``."""
    effect = change.effect
    if effect is None or effect.low is None or effect.high is None:
        return units.UNKNOWN
    return f"{(effect.low - 1) * 100:+.1f} … {(effect.high - 1) * 100:+.1f} %"


def counts_text(change: Change) -> str:
    """Return the number of repetitions of a figure on each side."""
    return f"{len(change.values_a)}/{len(change.values_b)}"


def word_runs(change: Change) -> list[Run]:
    """Return the result of a change in a word or two, with the reason."""
    return [
        (change.word, ROLES.get(change.word, LABEL)),
        (f" ({change.why})" if change.why else "", LABEL),
    ]


def brief_run(change: Change) -> Run:
    """Return the result of a change in brief, for narrow tables."""
    return BRIEF.get(change.word) or change.word or "", ROLES.get(change.word, LABEL)


def _beside(found: Comparison, width: int) -> Iterator[Line]:
    """Yield the figures of a matrix that are better or worse, except headlines."""
    told = [(point, each) for point in found.points for each in point.changes
            if not each.headline and each.word in ("better", "worse")]  # fmt: skip
    if told:
        yield Line()
        yield Line.of(("other figures", HEADING))
    for point, each in told:
        said = f"{each.title} {signed(each.change)} ({interval_text(each)}) "
        yield from indented([(f"{point.name}: ", BRIGHT), (said, TEXT), *word_runs(each)], width)


def judged_lines(judged: Sequence[JudgedCriterion]) -> list[Line]:
    """Return the outcome of each threshold, one per line."""
    roles = {
        "kept": GOOD,
        "broken": BAD,
        "not measured": WARN,
        "not comparable": WARN,
        "cannot be judged": WARN,
    }
    return [Line.of(("fails if  ", LABEL), (each.text, roles[each.outcome])) for each in judged]


def several_sides_text(found: Sequence[Comparison]) -> str:
    """Return the note that each side is tested against A separately, and how the error rates add
    up; empty unless several sides were tested.
    """
    tested = sum(
        each.search.threshold is not None
        if each.search is not None
        else any(change.p_corrected is not None for change in each.changes)
        for each in found
        if not each.obstacles
    )
    if tested < 2:
        return ""
    error = units.share(min(tested * ALPHA, 1.0))
    return (
        f"each of the {tested} sides is compared with A separately: even if none differs, the"
        f" chance that at least one is called better or worse is up to {error}"
    )


def method_texts(found: Comparison) -> Iterator[str]:
    """Yield the statistical tests used, and the smallest change that counts; nothing if none was
    used.
    """
    used = dict.fromkeys(
        each.effect.method for each in found.changes if each.effect and each.effect.p is not None
    )
    yield from (METHODS[method] for method in used)
    if used and found.word != "not comparable":
        least = sorted(
            {each.threshold for each in found.changes if each.effect is not None and each.headline}
        )
        said = (
            " or ".join(f"{each * 100:.2g} %" for each in dict.fromkeys((least[0], least[-1])))
            if least
            else "2 %"
        )
        yield f"{HOLM}; headline changes below {said} are not called better or worse"


def _methods(found: Comparison, width: int) -> Iterator[Line]:
    for text in method_texts(found):
        yield from indented([(text, LABEL)], width, 0)

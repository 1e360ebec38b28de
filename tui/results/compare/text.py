"""A comparison as lines of runs, for screens and for plain text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tui.metrics import units
from tui.metrics.registry import METRICS
from tui.model.record import RunRecord
from tui.results.compare.compare import Change, Comparison, PointChange, Word
from tui.results.compare.criteria import Judged
from tui.results.compare.gate import Difference
from tui.results.compare.sentence import reasons_left, sentence
from tui.results.text.judged import VERDICTS
from tui.text.line import BAD, BRIGHT, GOOD, HEADING, LABEL, TEXT, WARN, Line, Run, indented, labelled
from tui.text.table import Column, measured, text_table

ROLES: dict[Word, str] = {
    "better": GOOD,
    "worse": BAD,
    "no difference detected": TEXT,
    "inconclusive": WARN,
    "too few repetitions to say": WARN,
    "not comparable": BAD,
}
BRIEF: dict[Word, str] = {"too few repetitions to say": "too few", "no difference detected": "no difference"}
METHODS = {
    "repetitions": "repetitions: Mann-Whitney U, exact; Hodges-Lehmann shift of the logarithms with its interval",
    "within one run": "within-run only: seconds resampled in moving blocks (of metadata, its iterations); "
    "repeat the runs, or measure run-to-run noise with benchtui noise",
    "one run, order statistics": "percentiles of one run: ranks in its histogram, widened by how much neighbouring "
    "seconds are alike; within-run only too",
    "one run, noise floor": "one run each: interval of two single runs by the measured noise floor, or within the runs "
    "where that is wider",
}
HOLM = "the headline is tested by itself; the other figures together (Holm)"
LABELS = 10


def comparison_lines(
    found: Comparison, width: int | None, *, every: bool = False, drawn: Sequence[Line] = (), advice: bool = True
) -> list[Line]:
    """Return the answer, runs, gate, headlines and figures; with `every` all figures of all points of a matrix.

    `drawn` belongs to the answer: it stands below it. `advice`: the answer says what would tell where nobody can.
    """
    room = width or 120
    lines = [*answer_lines(found, room, advice=advice), *drawn, Line(), *gate_lines(found, room), Line()]
    if found.search is not None:
        from tui.results.compare.searches import search_lines

        return [*lines, *search_lines(found.search, room)]
    single = len(found.points) == 1
    if not single and found.points:
        lines += [*_headlines(found, width), *_beside(found, room)]
    if single or every:
        for point in found.points:
            lines += [*([Line(), Line.of((point.name, HEADING))] if not single else []), *_figures(point, width)]
    return [*lines, *([Line(), *methods] if (methods := list(_methods(found, room))) else [])]


def answer_lines(found: Comparison, width: int, *, advice: bool = True) -> list[Line]:
    """Return what is said of both sides whole, in a sentence, and their runs."""
    said = [(sentence(found, advice=advice), ROLES.get(found.word, BRIGHT))]
    return [*indented(said, width, 0), *_sides(found, width)]


def _sides(found: Comparison, width: int) -> Iterator[Line]:
    for name, records in (("A", found.a), ("B", found.b)):
        for record in records:
            yield from labelled([(f"{name}  ", BRIGHT)], side_runs(record), width)


def side_runs(record: RunRecord) -> list[Run]:
    """Return one run in a line: id, profile, hosts, target, state and verdict."""
    hosts = f"{len(record.hosts)} host{'' if len(record.hosts) == 1 else 's'}"
    said = [record.profile.tag, hosts, *([f"on {record.target}"] if record.target else []), record.state]
    verdict = VERDICTS.get(record.verdict or "", "")
    role = BAD if record.verdict == "invalid" else WARN if record.verdict == "valid-with-warnings" else LABEL
    return [(record.run_id, BRIGHT), (f"  {', '.join(said)}", TEXT), (f", {verdict}" if verdict else "", role)]


def gate_lines(found: Comparison, width: int) -> list[Line]:
    """Return why the runs are not comparable, as far as the answer does not say it, and what else is not the same."""
    lines: list[Line] = []
    mattering = [each for each in found.gate if not each.blocks and each.matters and each.what not in found.across]
    varied = [each for each in found.gate if each.what in found.across and not each.blocks]
    rest = [each for each in found.gate if not each.blocks and not each.matters and each.what not in found.across]
    for label, role, parts in (
        ("not comparable", BAD, reasons_left(found)),
        ("compared", BRIGHT, varied),
        ("differs", WARN, mattering),
        ("differs too", LABEL, rest),
    ):
        lines += _listed(label, role, parts, width)
    if lines or found.obstacles:
        return lines or indented([("nothing else is known to differ", LABEL)], width, 0)
    return indented([("nothing known differs in profile, parameters, hosts, tools and verdicts", LABEL)], width, 0)


def _listed(label: str, role: str, parts: Sequence[Difference], width: int) -> Iterator[Line]:
    for at, each in enumerate(parts):
        yield from labelled([(f"{label if at == 0 else '':<16}", LABEL)], [(each.text, role)], width)


def _figures(point: PointChange, width: int | None) -> list[Line]:
    """Return the table of all figures of a point, the headline first and bright."""
    title = Column[Change]("figure", lambda each: (each.title, BRIGHT if each.headline else TEXT))
    return _table([title], point.changes, width)


def _table(first: Sequence[Column[Change]], rows: Sequence[Change], width: int | None) -> list[Line]:
    """Return a table; what is the same in each row, and reasons that have no room, stand below it, each once."""
    shared = _shared_words(rows)
    columns = [*first, *_columns(rows, words=shared is None)]
    least = [column for column in columns if not column.drop]
    whole = sum(column.width + column.gap for column in measured(least, rows)) - least[0].gap
    if shared is not None:
        below = indented([(shared, LABEL)], width or 120, 0) if shared else []
        return [*text_table(columns, rows, width), *below]
    if width is None or whole <= width:
        return text_table(columns, rows, width)
    columns[-1] = Column("", lambda each: word_runs(each)[:1])
    known = measured([*least[:-1], columns[-1]], rows)
    brief = sum(column.width + column.gap for column in known) - least[0].gap > width
    if brief:
        columns[-1] = Column("", brief_run)
    told = [(each.word, each.why) for each in rows if each.why or (brief and each.word in BRIEF)]
    reasons = dict.fromkeys(f"{word}: {why}" if why else word for word, why in told)
    below = [line for text in reasons for line in indented([(text, LABEL)], width, 0)]
    return [*text_table(columns, rows, width), *below]


def _shared_words(changes: Sequence[Change]) -> str | None:
    """Return what is said of each figure where it is the same of all, to be told once; None when it is not.

    That runs are not comparable has been said: then it is empty.
    """
    said = {(each.word, each.why) for each in changes}
    if len(said) != 1 or (len(changes) < 2 and changes[0].word != "not comparable"):
        return None
    ((word, why),) = said
    return "" if word == "not comparable" else f"{word}: {why or 'every figure'}"


def _headlines(found: Comparison, width: int | None) -> list[Line]:
    """Return the headline of each point of a matrix."""
    rows = [(point.name, change) for point in found.points if (change := point.headline) is not None]
    names = {id(change): name for name, change in rows}
    columns: list[Column[Change]] = [
        Column("point", lambda each: (names[id(each)], BRIGHT)),
        Column("figure", lambda each: each.title, drop=2),
    ]  # fmt: skip
    return _table(columns, [change for _, change in rows], width)


def _columns(rows: Sequence[Change], *, words: bool = True) -> list[Column[Change]]:
    """Return the columns; no intervals where there are none, and no counts where all are those of the answer."""
    intervals = any(interval_text(each) != units.UNKNOWN for each in rows)
    counts = len({counts_text(each) for each in rows}) > 1
    return [
        Column("A", lambda each: figure_text(each, each.a), right=True),
        Column("B", lambda each: figure_text(each, each.b), right=True),
        Column("change", lambda each: signed(each.change), right=True, role=BRIGHT),
        *([Column[Change]("95 % interval", interval_text, drop=3, right=True)] if intervals else []),
        *([Column[Change]("n", counts_text, drop=4, right=True, role=LABEL)] if counts else []),
        *([Column("", word_runs)] if words else []),
    ]


def figure_text(change: Change, value: float | None) -> str:
    """Return one side's figure: ``390k IOPS``, ``1.20 ms``, ``n<10``."""
    return METRICS[change.figure.metric].with_unit(value)


def signed(share: float | None) -> str:
    """Return a change as people write it: ``+3.1 %``."""
    return units.UNKNOWN if share is None else f"{share * 100:+.1f} %"


def interval_text(change: Change) -> str:
    """Return the interval of a change: ``+1.2 … +5.0 %``."""
    effect = change.effect
    if effect is None or effect.low is None or effect.high is None:
        return units.UNKNOWN
    return f"{(effect.low - 1) * 100:+.1f} … {(effect.high - 1) * 100:+.1f} %"


def counts_text(change: Change) -> str:
    """Return how many repetitions each side has."""
    return f"{len(change.values_a)}/{len(change.values_b)}"


def word_runs(change: Change) -> list[Run]:
    """Return the word with its reason."""
    return [(change.word, ROLES.get(change.word, LABEL)), (f" ({change.why})" if change.why else "", LABEL)]


def brief_run(change: Change) -> Run:
    """Return the word in few letters, for where it has no room."""
    return BRIEF.get(change.word) or change.word or "", ROLES.get(change.word, LABEL)


def _beside(found: Comparison, width: int) -> Iterator[Line]:
    """Yield figures of a matrix that differ and are no headline."""
    told = [(point, each) for point in found.points for each in point.changes
            if not each.headline and each.word in ("better", "worse")]  # fmt: skip
    if told:
        yield Line()
        yield Line.of(("beside the headlines", HEADING))
    for point, each in told:
        said = f"{each.title} {signed(each.change)} ({interval_text(each)}) "
        yield from indented([(f"{point.name}: ", BRIGHT), (said, TEXT), *word_runs(each)], width)


def judged_lines(judged: Sequence[Judged]) -> list[Line]:
    """Return how a run stands by its criteria."""
    roles = {"kept": GOOD, "broken": BAD, "not measured": WARN, "not comparable": WARN, "cannot be judged": WARN}
    return [Line.of(("must not be  ", LABEL), (each.text, roles[each.outcome])) for each in judged]


def method_texts(found: Comparison) -> Iterator[str]:
    """Yield how the changes are known, and how large one has to be to be worth a word."""
    used = dict.fromkeys(each.effect.method for each in found.changes if each.effect and each.effect.p is not None)
    yield from (METHODS[method] for method in used)
    if used:
        least = sorted({each.threshold for each in found.changes if each.effect is not None and each.headline})
        said = " or ".join(f"{each * 100:.2g} %" for each in dict.fromkeys((least[0], least[-1]))) if least else "2 %"
        yield f"{HOLM}; less than {said} is no difference (headline)"


def _methods(found: Comparison, width: int) -> Iterator[Line]:
    for text in method_texts(found):
        if found.word == "not comparable" and text.startswith(HOLM):
            continue  # it is about words, and there are none
        yield from indented([(text, LABEL)], width, 0)

"""Objections to a figure: answers from the record, and lines to print."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from tui.judge.severity import MOOT
from tui.judge.wording import message_of, reasons_of, worded
from tui.metrics.units import plural
from tui.model.plain import printable
from tui.record.cells import measured_steps
from tui.text.line import (
    BAD,
    BRIGHT,
    GOOD,
    LABEL,
    TEXT,
    WARN,
    Line,
    Run,
    labelled,
    rule,
    width_of,
    width_of_runs,
)
from tui.text.names import names_of
from tui.text.table import Column, measured, table_line
from tui.view.step_notes import finding_place

if TYPE_CHECKING:
    from tui.model.figure_record import CodedText
    from tui.model.record import Finding, HostsNotChecked, RunRecord
    from tui.model.step_record import StepRecord

Weight = Literal["refutes", "confirms", "partly", "unknown", "fact", "n/a"]
"""Effect of a piece of evidence on an objection; `fact` is context only."""

Standing = Literal["stands", "partly-stands", "unknown", "refuted", "n/a"]
"""The answer to an objection, worst for the run first."""

STANDINGS: tuple[Standing, ...] = ("stands", "partly-stands", "unknown", "refuted", "n/a")
WEIGHT_OF: dict[str, Weight] = {"error": "confirms", "warning": "partly", "info": "partly"}


class ObjectionEvidence(Struct, frozen=True):
    """One piece of evidence, and the check it comes from; without one, from the record itself.

    `passed`: the check ran and found nothing; `words` are appended to its rule. `brief`: the
    evidence in a few words. `where`: on which of the hosts it ran, if not on all.
    """

    weight: Weight
    words: str
    check: str = ""
    passed: bool = False
    brief: str = ""
    where: str = ""

    @property
    def text(self) -> str:
        """The evidence as text.

        The catalogue of checks, which has the rules, is loaded only here.
        """
        if not self.passed:
            return self.words
        from tui.judge.catalogue import BY_ID

        return f"checked{self.where}: {BY_ID[self.check].rule}{self.words}"


FindEvidence = Callable[["RunRecord", "StepRecord | None"], Iterator[ObjectionEvidence]]


class Objection(Struct, frozen=True):
    """An argument against a figure.

    `checks` are relevant to it; of those in `supported_by`, only findings with these codes support
    it, and others are context. If a `decisive` check did not run for every step and host of the
    headline, the answer is unknown.
    `not_applicable` returns why the objection does not apply to a run, empty if it does; a finding
    that supports the objection overrides it. `find_evidence` yields further evidence about the step
    of the headline. `passed`: what passed checks show, in a few words.
    """

    id: str
    claim: str
    passed: str
    checks: tuple[str, ...] = ()
    decisive: tuple[str, ...] = ()
    find_evidence: FindEvidence | None = None
    not_applicable: Callable[[RunRecord], str] | None = None
    supported_by: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class ObjectionAnswer(Struct, frozen=True):
    """An objection, its answer, and the evidence."""

    objection: Objection
    standing: Standing
    evidence: tuple[ObjectionEvidence, ...]


def answers(objections: Sequence[Objection], record: RunRecord) -> list[ObjectionAnswer]:
    """Answer every objection to a run, worst first. Empty if nothing was measured."""
    if headline_step(record) is None:
        return []
    found = [answer_to(objection, record) for objection in objections]
    return sorted(found, key=lambda answer: STANDINGS.index(answer.standing))


def answer_to(objection: Objection, record: RunRecord) -> ObjectionAnswer:
    """Answer one objection to a run."""
    found = tuple(_of_findings(objection, record))
    why = objection.not_applicable(record) if objection.not_applicable is not None else ""
    if why and all(each.weight == "fact" for each in found):
        return ObjectionAnswer(objection, "n/a", (ObjectionEvidence("fact", why),))
    step = headline_step(record)
    find = objection.find_evidence
    own = tuple(find(record, step)) if find is not None else ()
    evidence = (*found, *own, *_of_checks(objection, record))
    open_ = any(each.weight == "unknown" for each in own)
    return ObjectionAnswer(
        objection, standing_of(objection, record, evidence, open_=open_), evidence
    )


def standing_of(
    objection: Objection, record: RunRecord, evidence: Sequence[ObjectionEvidence], *, open_: bool
) -> Standing:
    """Return the answer that follows from the evidence.

    `open_`: the record itself leaves something open.
    """
    weights = {each.weight for each in evidence}
    if "confirms" in weights:
        return "stands"
    if "partly" in weights:
        return "partly-stands"
    decisive = [check for check in objection.decisive if reason_code(record, check) not in MOOT]
    open_ = open_ or any(
        check not in (record.checks or []) or gap_of(record, check) or host_gaps_of(record, check)
        for check in decisive
    )
    if not open_ and "refutes" in weights:
        return "refuted"
    moot = not open_ and "unknown" not in weights and objection.decisive and not decisive
    return "n/a" if moot else "unknown"


def _of_findings(objection: Objection, record: RunRecord) -> Iterator[ObjectionEvidence]:
    for finding in record.findings:
        if finding.id in objection.checks:
            place = finding_place(record, finding)
            text = f"{message_of(finding)}{f' ({place})' if place else ''}"
            supports = _supports(finding, objection)
            weight = WEIGHT_OF[finding.severity] if supports else "fact"
            yield ObjectionEvidence(weight, text, finding.id)


def _supports(finding: Finding, objection: Objection) -> bool:
    """Return whether a finding supports an objection; True for an older one without a code."""
    codes = objection.supported_by.get(finding.id)
    return codes is None or not finding.code or finding.code in codes


def _of_checks(objection: Objection, record: RunRecord) -> Iterator[ObjectionEvidence]:
    """Yield the checks that found nothing, then the checks that could not run for a step or a host
    of the headline, and why.
    """
    if record.checks is None:
        return
    found = {finding.id for finding in record.findings}
    made = [name for name in objection.checks if name in record.checks]
    gaps = {name: gap for name in made if (gap := gap_of(record, name)) is not None}
    passed = [name for name in made if name not in found and name not in gaps]
    yield from (
        ObjectionEvidence(
            "refutes", _changed(record, name), name, passed=True, where=_of_hosts(record, name)
        )
        for name in passed
    )
    for name in made:
        for each in () if name in gaps else host_gaps_of(record, name):
            why = f"not checked on {names_of(each.hosts)}: {worded(each.why)}"
            yield ObjectionEvidence("unknown", why, name)
    reasons = reasons_of(record.checks_not_made)
    reasons |= {name: f"{worded(gap)} ({OTHER_STEPS})" for name, gap in gaps.items()}
    for name in objection.checks:
        reason = reasons.get(name)
        if reason is not None:
            moot = reason_code(record, name) in MOOT
            yield ObjectionEvidence(
                "n/a" if moot else "unknown", reason if moot else f"{NOT_CHECKED}{reason}", name
            )


def reason_code(record: RunRecord, check: str) -> str:
    """Return, as a code, why a check could not run for a step of the headline; empty if it ran, or
    the code is unknown.
    """
    return _code((record.checks_not_made or {}).get(check) or gap_of(record, check) or "")


def _code(why: CodedText | str) -> str:
    return "" if isinstance(why, str) else why.code


def gap_of(record: RunRecord, check: str) -> CodedText | str | None:
    """Return why a check that ran had no data for a step of the headline; None if it had.

    A reason why the check does not apply counts only if it holds for every step of the headline.
    """
    if record.steps_not_checked is None:
        return OLD_STEPS if _may_lack_steps(record, check) else None
    steps = {step.index for step in headline_steps(record)}
    missed = [
        (steps.intersection(each.steps), each.why)
        for each in record.steps_not_checked.get(check, ())
    ]
    here = [(indices, why) for indices, why in missed if indices]
    lacking = [why for _, why in here if _code(why) not in MOOT]
    if lacking:
        return lacking[0]
    whole = set[int]().union(*(indices for indices, _ in here))
    return here[0][1] if here and whole == steps else None


def host_gaps_of(record: RunRecord, check: str) -> list[HostsNotChecked]:
    """Return the headline's hosts for which a check that ran had no data."""
    steps = {step.index for step in headline_steps(record)}
    gaps = (record.hosts_not_checked or {}).get(check, ())
    return [each for each in gaps if not each.steps or steps.intersection(each.steps)]


def _of_hosts(record: RunRecord, check: str) -> str:
    """Return on how many hosts of the headline a check ran, as text; empty if on all of them."""
    gaps = host_gaps_of(record, check)
    if not gaps:
        return ""
    names = {host.name for host in record.hosts if host.role == "client"}
    if any(gap.steps for gap in gaps):
        names &= {host for step in headline_steps(record) for host in step.tasks}
    lacking = {host for gap in gaps for host in gap.hosts}
    return f" on {len(names - lacking)} of {plural(len(names), 'host')}"


def _may_lack_steps(record: RunRecord, check: str) -> bool:
    """Return whether a check that an older version made may have had data for some steps only."""
    counted = [
        step
        for step in record.steps
        if not step.warmup and step.state not in ("missing", "skipped")
    ]
    if len(counted) < 2 or check not in (record.checks or ()):
        return False
    from tui.judge.catalogue import BY_ID  # slow to load, and only older records need it

    known = BY_ID.get(check)
    return known is None or known.of_step is not None


def _changed(record: RunRecord, check: str) -> str:
    """Return the thresholds of a check that the profile changed, as text."""
    changed = [
        f"{name} {value:g}"
        for name, value in record.thresholds.items()
        if name.partition(".")[0] == check
    ]
    return f" (thresholds changed by the profile: {', '.join(changed)})" if changed else ""


def headline_step(record: RunRecord) -> StepRecord | None:
    """Return the step of the headline, otherwise the first step that measured something."""
    index = record.headline.step if record.headline is not None else None
    measured = measured_steps(record)
    return next(
        (step for step in measured if step.index == index), measured[0] if measured else None
    )


def headline_steps(record: RunRecord) -> list[StepRecord]:
    """Return the steps behind the headline: all of its repetitions; in a suite, which has
    a headline for each profile, every step that measured something.
    """
    step = headline_step(record)
    if step is None or record.headline is None:
        return measured_steps(record)
    cells = record.matrix.cells if record.matrix is not None else ()
    cell = next((cell.steps for cell in cells if step.index in cell.steps), [step.index])
    return [each for each in measured_steps(record) if each.index in cell]


def counts(found: Sequence[ObjectionAnswer]) -> dict[Standing, int]:
    """Return the number of objections by answer, worst first."""
    return {
        each: count
        for each in STANDINGS
        if (count := sum(answer.standing == each for answer in found))
    }


MARKS: dict[Standing, Run] = {
    "stands": ("✗", BAD),
    "partly-stands": ("!", WARN),
    "unknown": ("?", LABEL),
    "refuted": ("✓", GOOD),
    "n/a": ("·", LABEL),
}
WORDS: dict[Standing, str] = {
    "stands": "stands",
    "partly-stands": "partly stands",
    "unknown": "unknown",
    "refuted": "refuted",
    "n/a": "n/a",
}
SHORT_WORDS: dict[Standing, str] = {**WORDS, "partly-stands": "partly"}
COUNTED: dict[Standing, str] = {**WORDS, "stands": "stand", "partly-stands": "partly stand"}
SIGNS: dict[Weight, Run] = {
    "refutes": ("✓", GOOD),
    "confirms": ("✗", BAD),
    "partly": ("!", WARN),
    "unknown": ("?", LABEL),
    "fact": (" ", TEXT),
    "n/a": (" ", TEXT),
}
ORDER: tuple[Weight, ...] = ("confirms", "partly", "refutes", "fact", "unknown")
NOT_CHECKED = "not checked: "
OTHER_STEPS = "checked on other steps"
OLD_STEPS = "an older version did not record which steps this check ran on"
CLAUSE_ENDS = ("; ", " (", ": ", ", ")  # where a text may be cut
GAP = 2
RAISED: tuple[Standing, ...] = ("stands", "partly-stands")
ROOMY_FROM = 100  # columns for the mark and the whole word of each answer
OLD = (
    "An older version wrote this record, without a list of checks. The answers below use"
    " only the figures."
)


def counts_runs(answers: Sequence[ObjectionAnswer], *, marked: bool = False) -> list[Run]:
    """Return the number of objections by answer; `marked`: each with the mark of its answer.

    ``20 objections: 1 stands, 3 unknown, 12 refuted``
    """
    found = counts(answers)
    runs: list[Run] = [(f"{plural(len(answers), 'objection')}: ", TEXT)]
    for place, (standing, count) in enumerate(found.items()):
        word = (WORDS if count == 1 else COUNTED)[standing]
        mark, role = MARKS[standing]
        told = f"{mark} {count} {word}" if marked else f"{count} {word}"
        runs += [(", " if place else "", TEXT), (told, role)]
    return runs


def standing_runs(answers: Sequence[ObjectionAnswer], room: int = 0) -> list[Run]:
    """Return how many objections stand; add their claims and the number of unknown answers if they
    fit into `room` cells.

    ``1 of 20 stands, 2 partly stand``
    """
    found = counts(answers)
    runs: list[Run] = []
    for standing in RAISED:
        if count := found.get(standing):
            word = (WORDS if count == 1 else COUNTED)[standing]
            of = f" of {len(answers)}" if not runs else ""
            runs += [(", " if runs else "", TEXT), (f"{count}{of} {word}", MARKS[standing][1])]
    runs = runs or [(f"none of {len(answers)} stands", GOOD)]
    claims = [f'"{each.objection.claim}"' for each in answers if each.standing in RAISED]
    named = (
        ", ".join([*claims[:count], *([f"{len(claims) - count} more"] if claims[count:] else [])])
        for count in range(len(claims), 0, -1)
    )
    spare = room - width_of_runs(runs) - 2
    if told := next((each for each in named if width_of(each) <= spare), ""):
        runs.append((f": {told}", TEXT))
    if unknown := found.get("unknown"):
        more: Run = (f"; {unknown} unknown", LABEL)
        runs += [more] if width_of_runs([*runs, more]) <= room else []
    return runs


def objection_lines(
    answers: Sequence[ObjectionAnswer],
    width: int,
    *,
    judged: bool = True,
    overview: bool = False,
) -> list[Line]:
    """Return all objections with their evidence, worst first.

    Objections without data are named in one line, those that do not apply at the end. `judged`: the
    record says which checks ran. `overview`: a line for each objection first. Without objections,
    one line says that nothing was measured.
    """
    if not answers:
        return [Line.of(("nothing was measured: no objections", LABEL))]
    lines = labelled([], counts_runs(answers, marked=overview), width)
    lines += [] if judged else labelled([], [(OLD, WARN)], width)
    lines.append(Line())
    if overview:
        lines += [*overview_lines(answers, width), Line(), rule("Evidence", "", width), Line()]
    silent = [
        answer for answer in answers if answer.standing == "unknown" and not _has_evidence(answer)
    ]
    for answer in answers:
        lines += (
            answer_lines(answer, width) if answer.standing != "n/a" and answer not in silent else []
        )
    if silent:
        mark, role = MARKS["unknown"]
        claims = ", ".join(f'"{answer.objection.claim}"' for answer in silent)
        lines += labelled([(f"{mark} ", role)], [(f"no data for {claims}", LABEL)], width)
    return [
        *lines,
        *not_applicable_lines([answer for answer in answers if answer.standing == "n/a"], width),
    ]


def overview_lines(answers: Sequence[ObjectionAnswer], width: int) -> list[Line]:
    """Return a line for each objection: its answer first, then the claim, and the reason.

    The mark of an answer is beside its word only if there is room.
    """
    marked = width >= ROOMY_FROM
    words = WORDS if marked else SHORT_WORDS
    columns = [
        Column[ObjectionAnswer]("", lambda each: (words[each.standing], MARKS[each.standing][1])),
        Column[ObjectionAnswer](
            "", lambda each: (each.objection.claim, TEXT if each.standing == "n/a" else BRIGHT)
        ),
    ]
    if marked:
        columns[0] = replace(columns[0], gap=1)
        columns.insert(0, Column("", lambda each: MARKS[each.standing], 1))
    known = measured(columns, answers)
    room = max(width - sum(column.width + column.gap for column in known) + known[0].gap - GAP, 0)
    known.append(Column("", lambda each: (reason_of(each, room), LABEL), width=room, gap=GAP))
    return [table_line(known, [each.width for each in known], answer) for answer in answers]


def reason_of(answer: ObjectionAnswer, room: int) -> str:
    """Return the most important evidence, in few words if more do not fit into `room` cells.

    For a refuted objection: its first figures or, without any, what the passed checks show.
    """
    known = answer.evidence
    if answer.standing == "refuted":
        figures = [each for each in known if each.brief] or [
            each for each in known if not each.passed and each.weight in ("refutes", "fact")
        ]
        if not figures:
            return answer.objection.passed
        return fitting_text(figures[0], room, brief=True)
    order = (*ORDER, "n/a")
    first = min(known, key=lambda each: order.index(each.weight), default=None)
    if answer.standing == "unknown":
        first = next((each for each in known if each.weight == "unknown"), first)
    return fitting_text(first, room) if first is not None else ""


def fitting_text(evidence: ObjectionEvidence, room: int, *, brief: bool = False) -> str:
    """Return a piece of evidence in at most `room` cells if possible, else its first clause.

    `brief`: prefer its brief form.
    """
    text = " ".join(printable(evidence.text).split()).removeprefix(NOT_CHECKED)
    wanted = [evidence.brief or text] if brief else [text, evidence.brief]
    clauses = [text.partition(sign)[0] for sign in CLAUSE_ENDS]
    fitting = (each for each in (*wanted, *clauses) if each and width_of(each) <= room)
    return next(fitting, evidence.brief or text)


def _has_evidence(answer: ObjectionAnswer) -> bool:
    return any(each.weight != "n/a" for each in answer.evidence)


def not_applicable_lines(answers: Sequence[ObjectionAnswer], width: int) -> list[Line]:
    """Return the objections that do not apply, grouped by reason."""
    reasons: dict[str, list[str]] = {}
    for answer in answers:
        why = "; ".join(each.text for each in answer.evidence if each.weight in ("fact", "n/a"))
        reasons.setdefault(why, []).append(f'"{answer.objection.claim}"')
    mark, role = MARKS["n/a"]
    lines = []
    for why, claims in reasons.items():
        lines += labelled(
            [(f"{mark} ", role)], [(f"{WORDS['n/a']}, {why}: {', '.join(claims)}", LABEL)], width
        )
    return lines


def answer_lines(answer: ObjectionAnswer, width: int) -> list[Line]:
    """Return one objection: the claim, its answer, and the evidence that applies."""
    mark, role = MARKS[answer.standing]
    said: list[Run] = [(f"{mark} {WORDS[answer.standing]}: ", role)]
    lines = labelled(said, [(f'"{answer.objection.claim}"', BRIGHT)], width)
    for weight in ORDER:
        for each in _together([each for each in answer.evidence if each.weight == weight]):
            lines += evidence_lines(each, width)
    return [*lines, Line()]


def _together(evidence: Sequence[ObjectionEvidence]) -> list[ObjectionEvidence]:
    """Merge evidence with the same words, naming its checks; passed checks stay apart."""
    found: dict[tuple[str, bool], list[ObjectionEvidence]] = {}
    for each in evidence:
        found.setdefault((each.words, each.passed), []).append(each)
    return [
        alike[0]
        if passed or len(alike) == 1
        else replace(alike[0], check=", ".join(filter(None, (each.check for each in alike))))
        for (_, passed), alike in found.items()
        for alike in ([[each] for each in alike] if passed else [alike])
    ]


def evidence_lines(evidence: ObjectionEvidence, width: int) -> list[Line]:
    """Return a piece of evidence, with its sign and the check it comes from."""
    sign, role = SIGNS[evidence.weight]
    text = " ".join(printable(evidence.text).split())
    weak = evidence.weight in ("fact", "unknown")
    runs: list[Run] = [
        (f"{evidence.check}  " if evidence.check else "", TEXT if evidence.passed else LABEL),
        (text, LABEL if weak or evidence.passed else TEXT),
    ]
    return labelled([(f"  {sign} ", role)], [run for run in runs if run[0]], width)

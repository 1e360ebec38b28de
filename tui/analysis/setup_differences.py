"""Differences in setup between two sides, apart from the intended ones."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tui.analysis.measured import ComparedPoint, PointKey, PointRepetition, was_measured
from tui.analysis.published import (
    clients_of,
    is_place,
    kinds_of,
    major,
    profile_data,
    tool_versions,
    written,
)
from tui.analysis.same_measurement import copies_among
from tui.analysis.setup import MEASUREMENT, PROFILE_TEXT, imported_parts
from tui.metrics import units
from tui.metrics.facts import compare as compare_facts
from tui.metrics.facts import leaf_text
from tui.model.load_keys import differing, load_keys
from tui.model.operands import Clause, clause
from tui.model.record import ProfileRecord, RunRecord
from tui.text.comparison_texts import comparison_text

Side = Sequence[RunRecord]
Attempts = Sequence[PointRepetition]
NAMED = 4
NOT_SET = "not set"
LONGEST = 60  # of values; longer ones differ somewhere in the middle
WHOLE = ("complete", "imported")


@dataclass(frozen=True, slots=True)
class SetupDifference:
    """A difference in setup.

    `blocks`: figures must not be compared. `matters`: the difference may affect figures. `reason`
    is set if it is more than a name with two values.
    """

    what: str = ""
    a: str = ""
    b: str = ""
    blocks: bool = False
    matters: bool = True
    reason: Clause | None = field(default=None, hash=False)

    @property
    def title(self) -> str:
        """What differs, as text: ``numjobs``, ``A 20261123-101500 is partial``."""
        return self.what or comparison_text(self.reason)

    @property
    def text(self) -> str:
        """The difference as text: ``numjobs: A 1, B 4``."""
        texts = ", ".join(
            f"{side} {value}" for side, value in (("A", self.a), ("B", self.b)) if value
        )
        return f"{self.title}: {texts}" if texts else self.title


def differences(
    a: Side, b: Side, across: Collection[str] = (), *, searches: bool = False
) -> list[SetupDifference]:
    """Return the differences in setup between two sides.

    Parameters in `across`, and the points of `searches`, may differ. Every run counts: a run that
    differs from the others of its side does not repeat them.
    """
    found = [
        *_of_profiles(a, b),
        *(_of_searches(a, b, across) if searches else _of_points(a, b, across)),
        *_of_states(a, b),
        *_of_copies(a, b),
        *_of_setups(a, b),
        *_of_facts(a, b),
    ]
    return sorted(dict.fromkeys(found), key=lambda each: (not each.blocks, not each.matters))


def points_missing(
    a: dict[PointKey, ComparedPoint], b: dict[PointKey, ComparedPoint]
) -> list[SetupDifference]:
    """Return the points that only one side measured.

    They prevent a comparison if both sides have no point in common.
    """
    alone = [[point.name or "a single point" for key, point in one.items() if key not in other]
             for one, other in ((a, b), (b, a))]  # fmt: skip
    if not any(alone):
        return []
    return [
        SetupDifference(
            "points on one side only",
            _few(alone[0]),
            _few(alone[1]),
            blocks=not a.keys() & b.keys(),
        )
    ]


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def _differs(
    what: str,
    a: Side,
    b: Side,
    of: Callable[[RunRecord], object],
    *,
    blocks: bool = False,
    matters: bool = True,
) -> Iterator[SetupDifference]:
    """Yield a difference if the sides do not have the same set of values.

    A difference that `blocks` also requires a single value on each side.
    """
    known = [
        sorted({str(value) for record in side if (value := of(record)) not in (None, "")})
        for side in (a, b)
    ]
    mixed = blocks and max(map(len, known)) > 1
    if all(known) and (known[0] != known[1] or mixed):
        yield SetupDifference(what, _few(known[0]), _few(known[1]), blocks, matters)


def _of_profiles(a: Side, b: Side) -> Iterator[SetupDifference]:
    yield from _differs("profile", a, b, lambda run: run.profile.tag, blocks=True)
    if {run.profile.tag for run in a} == {run.profile.tag for run in b}:
        yield from _differs("profile version", a, b, lambda run: run.profile.version, blocks=True)
        yield from _of_texts(a, b)
    yield from _differs("latency counted", a, b, lambda run: run.latency_kind, blocks=True)
    yield from _differs("preconditioning skipped", a, b, _precondition_left_out, blocks=True)
    yield from _differs(
        "attested", a, b, lambda run: ", ".join(f"{each.id}={each.answer}" for each in run.attested)
    )


def _of_texts(a: Side, b: Side) -> Iterator[SetupDifference]:
    """Yield the keys at which the texts of a profile differ; they may change what no parameter
    shows.
    """
    sides = [[keys for run in side if (keys := keys_of(run.profile))] for side in (a, b)]
    if not all(sides):
        return
    every = [keys for side in sides for keys in side]
    paths = sorted({path for keys in every[1:] for path in differing(every[0], keys)})
    for path in paths[:NAMED] if len(paths) > NAMED + 1 else paths:
        texts = [sorted({keys.get(path, NOT_SET) for keys in side}) for side in sides]
        shown = [" or ".join(each) for each in texts]
        short = path and max(map(len, shown)) <= LONGEST
        yield SetupDifference(path or PROFILE_TEXT, *(shown if short else ("", "")))
    if len(paths) > NAMED + 1:
        yield SetupDifference(f"{len(paths) - NAMED} more keys of the profile")


def keys_of(profile: ProfileRecord) -> dict[str, str]:
    """Return the load keys in the texts of a run's profile, its bases and its members, by path.

    Empty if the text is unknown.
    """
    if profile.text is None:
        return {}
    found = dict(load_keys(profile.text, tuple(zip(profile.extends, profile.bases, strict=False))))
    for member in profile.members:
        for path, value in load_keys(member.text or "").items():
            found[f"{member.tag}: {path}"] = value
    return found


def _precondition_left_out(record: RunRecord) -> str:
    return "" if record.precondition is None else "yes" if record.precondition.left_out else "no"


def _of_points(a: Side, b: Side, across: Collection[str]) -> Iterator[SetupDifference]:
    """Yield differences at the same point, between the sides or within one.

    Swept values are part of the point.
    """
    ours, theirs = _by_place(a), _by_place(b)
    for place in [each for each in ours if each in theirs]:
        yield from _of_attempts(ours[place], theirs[place], across)
        if any(record.state == "imported" for record in (*a, *b)):
            yield from _of_loads(ours[place], theirs[place], across)
            yield from _of_options(ours[place], theirs[place], across)


def _of_searches(a: Side, b: Side, across: Collection[str]) -> Iterator[SetupDifference]:
    """Yield differences in what two searches varied; their points differ in any case."""
    over = {name for record in (*a, *b) if record.search is not None for name in record.search.over}
    yield from _of_attempts([*_searched(a, over)], [*_searched(b, over)], over.union(across))


def _searched(side: Side, over: Collection[str]) -> Iterator[PointRepetition]:
    for record in side:
        params = {name: value for name, value in record.profile.params.items() if name not in over}
        for step in [each for each in record.steps if was_measured(each)][:1]:
            yield PointRepetition(record, step.model_copy(update={"params": params}))


def _of_attempts(
    ours: Attempts, theirs: Attempts, across: Collection[str]
) -> Iterator[SetupDifference]:
    if ours and theirs:
        yield from _of_params(ours, theirs, across)
        yield from _of_clients(ours, theirs, across)
        yield from _of_tools(ours, theirs)
        yield from _of_directions(ours, theirs, across)


def _by_place(side: Side) -> dict[tuple[str, str], list[PointRepetition]]:
    found: dict[tuple[str, str], list[PointRepetition]] = {}
    for record in side:
        for step in record.steps:
            if not step.warmup and was_measured(step):
                place = step.part, repr(sorted(step.point.items()))
                found.setdefault(place, []).append(PointRepetition(record, step))
    return found


def _of_params(
    ours: Attempts, theirs: Attempts, across: Collection[str]
) -> Iterator[SetupDifference]:
    names = sorted({name for each in (*ours, *theirs) for name in each.step.params})
    values = {
        name: [{each.step.params.get(name) for each in side} for side in (ours, theirs)]
        for name in names
    }
    differing = [name for name in names if len(values[name][0] | values[name][1]) > 1]
    kinds = kinds_of(profile_data(ours[0].record)) if differing else {}
    for name in differing:
        place = any(is_place(name, str(value)) for side in values[name] for value in side)
        texts = [[written(value, kinds.get(name,
            "")) if value is not None else "not set" for value in side]
                for side in values[name]]  # fmt: skip
        yield _difference(name, *texts, blocks=not place, matters=not place, meant=name in across)


def _of_clients(
    ours: Attempts, theirs: Attempts, across: Collection[str]
) -> Iterator[SetupDifference]:
    counts = [{str(clients_of(each.record, each.step)) for each in side} for side in (ours, theirs)]
    if len(counts[0] | counts[1]) > 1 and not (max(map(len, counts)) == 1 and "hosts" in across):
        yield _difference("number of clients", *counts, blocks=True)


def _of_tools(ours: Attempts, theirs: Attempts) -> Iterator[SetupDifference]:
    known = [
        [found for each in side if (found := tool_versions(each.record, each.step))]
        for side in (ours, theirs)
    ]
    texts = [{", ".join(each) for each in side} for side in known]
    if all(texts) and len(texts[0] | texts[1]) > 1:
        majors = {frozenset(map(major, each)) for side in known for each in side}
        yield _difference(
            f"version of {ours[0].step.tool or 'the tool'}", *texts, blocks=len(majors) > 1
        )


def _of_directions(
    ours: Attempts, theirs: Attempts, across: Collection[str]
) -> Iterator[SetupDifference]:
    """Yield a difference if runs differ in whether they measured reads, writes, syncs, ...

    It blocks unless parameters may differ (`across`), such as the share of reads.
    """
    known = [
        {", ".join(sorted(found)) for each in side if (found := each.step.results.aggregate)}
        for side in (ours, theirs)
    ]
    if all(known) and len(known[0] | known[1]) > 1:
        yield _difference("I/Os by direction", *known, blocks=True, meant=bool(across))


def _of_loads(
    ours: Attempts, theirs: Attempts, across: Collection[str]
) -> Iterator[SetupDifference]:
    """Yield differences between imported runs, which have no parameters.

    A different name does not block. If an option is in `across`, it may have changed the load, so
    no difference blocks.
    """
    meant = any(name in across for each in (*ours, *theirs) for name in each.step.options)
    loads = [[dict(imported_parts(each.step)) for each in side] for side in (ours, theirs)]
    for name in dict.fromkeys(name for side in loads for each in side for name in each):
        known = [{each[name] for each in side if each.get(name)} for side in loads]
        if all(known) and len(known[0] | known[1]) > 1:
            yield _difference(name, *known, blocks=name != MEASUREMENT, meant=meant)


def _of_options(
    ours: Attempts, theirs: Attempts, across: Collection[str]
) -> Iterator[SetupDifference]:
    """Yield the options of imported loads that differ where both sides are known, and the sides
    with unknown options.
    """
    every = [each.step for each in (*ours, *theirs)]
    if len({step.tool for step in every}) > 1:
        return
    partly = [
        any(each.record.state == "imported" and not each.step.options_complete for each in side)
        for side in (ours, theirs)
    ]
    if any(partly):
        a, b = ("unknown" if one else "" for one in partly)
        yield SetupDifference("", a, b, reason=clause("options-missing"))
    if not all(step.options for step in every):
        return
    for name in sorted({name for step in every for name in step.options}):
        if any(name not in step.options and not step.options_complete for step in every):
            continue
        texts = [
            {each.step.options.get(name, "not set") for each in side} for side in (ours, theirs)
        ]
        if len(texts[0] | texts[1]) > 1:
            yield _difference(name, *texts, blocks=True, meant=name in across)


def _difference(
    what: str,
    a: Iterable[str],
    b: Iterable[str],
    *,
    blocks: bool,
    matters: bool = True,
    meant: bool = False,
) -> SetupDifference:
    """Return a difference at a point.

    If it is intended (`meant`) and each side has a single value, it does not block.
    """
    ours, theirs = sorted(set(a)), sorted(set(b))
    alike = len(ours) == len(theirs) == 1
    return SetupDifference(
        what, " or ".join(ours), " or ".join(theirs), blocks and not (meant and alike), matters
    )


def _of_states(a: Side, b: Side) -> Iterator[SetupDifference]:
    """Yield incomplete runs, invalid ones, and those judged differently since they were sealed;
    then different warnings.
    """
    for side, records in (("A", a), ("B", b)):
        for record in records:
            if record.state not in WHOLE:
                told = clause(
                    "run-not-complete", side=side, run_id=record.run_id, state=record.state
                )
                yield SetupDifference(blocks=True, reason=told)
            if record.verdict == "invalid":
                ids = dict.fromkeys(each.id for each in record.findings if each.severity == "error")
                told = clause("run-invalid", side=side, run_id=record.run_id, checks=[*ids])
                yield SetupDifference(blocks=True, reason=told)
            if record.not_as_sealed:
                told = clause("not-as-sealed", side=side, run_id=record.run_id)
                yield SetupDifference(reason=told)
    yield from _differs("warnings", a, b, _warnings)
    yield from _differs("changed thresholds of checks", a, b, _thresholds)
    yield from _differs("capacity held for", a, b, _held)


def _of_copies(a: Side, b: Side) -> Iterator[SetupDifference]:
    """Yield runs that hold the same measurement, imported or copied twice.

    On one side, they repeat nothing, so they block a comparison.
    """
    runs = [*(("A", record) for record in a), *(("B", record) for record in b)]
    for earlier, later in copies_among([record for _, record in runs]):
        (side, record), (other_side, other) = runs[earlier], runs[later]
        other_id = other.run_id if other_side == side else f"{other_side} {other.run_id}"
        told = clause("same-measurement", side=side, run_id=record.run_id, other_id=other_id)
        yield SetupDifference(blocks=other_side == side, reason=told)


def _warnings(record: RunRecord) -> str:
    return (
        ", ".join(sorted({each.id for each in record.findings if each.severity == "warning"}))
        or "none"
    )


def _thresholds(record: RunRecord) -> str:
    changed = (f"{name} {value:g}" for name, value in sorted(record.thresholds.items()))
    return ", ".join(changed) or "none"


def _held(record: RunRecord) -> str:
    answer = record.search.answer if record.search is not None else None
    if answer is None or answer.state != "found":
        return ""
    return units.span(answer.held_s) if answer.held_s else "not held"


def _of_setups(a: Side, b: Side) -> Iterator[SetupDifference]:
    yield from _differs("target", a, b, lambda run: run.target, matters=False)
    yield from _differs(
        "hosts", a, b, lambda run: ", ".join(sorted(host.name for host in run.hosts)), matters=False
    )
    yield from _differs(
        "benchtui version", a, b, lambda run: run.provenance.benchtui_version, matters=False
    )


def _of_facts(a: Side, b: Side) -> Iterator[SetupDifference]:
    """Yield host facts that are known on both sides and differ."""
    facts = {f"{side}\t{run.run_id}\t{host.name}": host.facts
             for side, records in (("A", a), ("B",
                 b)) for run in records for host in run.hosts}  # fmt: skip
    for each in compare_facts(facts).differing:
        values: dict[str, set[str]] = {"A": set(), "B": set()}
        for group in each.known:
            for host in group.hosts:
                values[host[0]].add(leaf_text(each.name, group.value))
        if all(values.values()) and values["A"] != values["B"]:
            yield SetupDifference(
                each.title,
                _few(sorted(values["A"])),
                _few(sorted(values["B"])),
                matters=each.matters,
            )

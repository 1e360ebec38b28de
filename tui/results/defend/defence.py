"""How a run stands against each attack: from findings, checks made and not made, and what the record holds. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from tui.results.findings.unknown import Moot

if TYPE_CHECKING:
    from tui.model.record import Finding, RunRecord
    from tui.model.step_record import StepRecord  # pydantic: not while a run goes on

Weight = Literal["against", "for", "doubt", "unknown", "fact", "moot"]
"""What a piece of evidence says of an attack: it is wrong, right, right in part; not known; neither; no matter here."""

Standing = Literal["holds", "in-part", "unknown", "answered", "moot"]
"""How an attack stands, the worst for the run first."""

STANDINGS: tuple[Standing, ...] = ("holds", "in-part", "unknown", "answered", "moot")
MOOT = frozenset(map(str, Moot))
WEIGHT_OF: dict[str, Weight] = {"error": "for", "warning": "doubt", "info": "doubt"}


class Said(Struct, frozen=True):
    """One piece of evidence, with the check that it comes from; empty: it stands in the record itself.

    `holds`: the rule of the check was looked at and holds; `words` follow it.
    """

    weight: Weight
    words: str
    check: str = ""
    holds: bool = False

    @property
    def text(self) -> str:
        """For people. A rule stands in the catalogue of checks, which is loaded by whoever shows it alone."""
        if not self.holds:
            return self.words
        from tui.results.findings.catalogue import BY_ID

        return f"checked: {BY_ID[self.check].rule}{self.words}"


Look = Callable[["RunRecord", "StepRecord | None"], Iterator[Said]]


class Attack(Struct, frozen=True):
    """Something that is said against a figure.

    `checks` speak of it; when one of the `decisive` could not be made, it is not known whether the attack is right.
    `moot` tells why it cannot be made against a run; `look` brings further evidence of the step that the figure is of.
    """

    id: str
    claim: str
    checks: tuple[str, ...] = ()
    decisive: tuple[str, ...] = ()
    look: Look | None = None
    moot: Callable[[RunRecord], str] | None = None


class Answer(Struct, frozen=True):
    """How one attack stands, and by what."""

    attack: Attack
    standing: Standing
    evidence: tuple[Said, ...]


def answers(attacks: Sequence[Attack], record: RunRecord) -> list[Answer]:
    """Return how a run stands against each attack, the worst first. Nothing when nothing was measured."""
    if headline_step(record) is None:
        return []
    found = [answer_to(attack, record) for attack in attacks]
    return sorted(found, key=lambda answer: STANDINGS.index(answer.standing))


def answer_to(attack: Attack, record: RunRecord) -> Answer:
    """Return how a run stands against one attack."""
    why = attack.moot(record) if attack.moot is not None else ""
    if why:
        return Answer(attack, "moot", (Said("fact", why),))
    step = headline_step(record)
    looked = tuple(attack.look(record, step)) if attack.look is not None else ()
    evidence = (*_of_findings(attack, record), *looked, *_of_checks(attack, record))
    open_ = any(said.weight == "unknown" for said in looked)
    return Answer(attack, standing_of(attack, record, evidence, open_=open_), evidence)


def standing_of(attack: Attack, record: RunRecord, evidence: Sequence[Said], *, open_: bool) -> Standing:
    """Return how an attack stands by all that is said of it; `open_`: the record itself leaves something open."""
    weights = {said.weight for said in evidence}
    if "for" in weights:
        return "holds"
    if "doubt" in weights:
        return "in-part"
    not_made = record.checks_not_made or {}
    decisive = [check for check in attack.decisive if not_made.get(check) not in MOOT]
    open_ = open_ or any(check not in (record.checks or []) for check in decisive)
    if not open_ and "against" in weights:
        return "answered"
    moot = not open_ and "unknown" not in weights and attack.decisive and not decisive
    return "moot" if moot else "unknown"


def _of_findings(attack: Attack, record: RunRecord) -> Iterator[Said]:
    for finding in record.findings:
        if finding.id in attack.checks:
            text = f"{finding.message}{_where(record, finding)}"
            yield Said(WEIGHT_OF[finding.severity], text, finding.id)


def _where(record: RunRecord, finding: Finding) -> str:
    """Return on which of several steps something was found."""
    if len(record.steps) < 2:
        return ""
    step, several = finding.scope.get("step"), str(finding.scope.get("steps") or "").split()
    if several:
        return f" (on {len(several)} of {len(record.steps)} steps)"
    return f" ({record.steps[step].name})" if isinstance(step, int) and step < len(record.steps) else ""


def _of_checks(attack: Attack, record: RunRecord) -> Iterator[Said]:
    """Yield the rules that were looked at and hold, then what could not be looked at, with the reason."""
    if record.checks is None:
        return
    found = {finding.id for finding in record.findings}
    made = [name for name in attack.checks if name in record.checks and name not in found]
    yield from (Said("against", _changed(record, name), name, holds=True) for name in made)
    for name in attack.checks:
        reason = (record.checks_not_made or {}).get(name)
        if reason is not None:
            yield Said("moot", reason, name) if reason in MOOT else Said("unknown", f"not checked: {reason}", name)


def _changed(record: RunRecord, check: str) -> str:
    """Return which thresholds of a check the profile has set otherwise."""
    changed = [f"{name} {value:g}" for name, value in record.thresholds.items() if name.partition(".")[0] == check]
    return f" (by the profile's own {', '.join(changed)})" if changed else ""


def headline_step(record: RunRecord) -> StepRecord | None:
    """Return the step that the headline comes from, else the first one that measured something."""
    index = record.headline.step if record.headline is not None else None
    measured = [step for step in record.steps if (step.results.aggregate or step.metadata) and not step.warmup]
    return next((step for step in measured if step.index == index), measured[0] if measured else None)


def counts(found: Sequence[Answer]) -> dict[Standing, int]:
    """Return how many attacks stand how, the worst first; those that do not arise with them."""
    return {each: count for each in STANDINGS if (count := sum(answer.standing == each for answer in found))}

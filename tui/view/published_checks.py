"""Checks of published results: the findings about each, as text and as JSON."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tui.analysis.published_evidence import clients_of, evidence_of
from tui.judge.catalogue import CHECKS, Examination, examine, verdict_of
from tui.judge.wording import message_of, reasons_of, with_message
from tui.metrics.units import plural
from tui.model.baseline import Baseline
from tui.model.plan import Plan
from tui.model.record import Verdict
from tui.view.published import WIDTH, spans
from tui.view.step_notes import VERDICTS

PlanOf = Callable[[Baseline, Sequence[str]], Plan]
ORDER = ("error", "warning", "info")


@dataclass(frozen=True, slots=True)
class PublishedVerdict:
    """The verdict on a published result, or on the sum of results for single clients.

    `number` is its position in its profile.
    """

    number: int
    baseline: Baseline
    seen: Examination
    verdict: Verdict

    @property
    def unmarked(self) -> bool:
        """Whether the checks found doubts that the result's file does not mention."""
        return self.verdict != "valid" and self.baseline.validity == "ok"


def judge(baselines: Sequence[Baseline], plan_of: PlanOf) -> list[PublishedVerdict]:
    """Run every check on published results.

    Results for single clients are checked together. `plan_of` returns the plan on these clients.
    """
    found: list[PublishedVerdict] = []
    counts: Counter[tuple[str, str]] = Counter()
    for each in baselines:
        key = (each.collection, each.profile)
        counts[key] += 1
        if each.host is not None:
            continue
        alone = [
            other
            for other in baselines
            if other.host is not None and (other.collection, other.profile) == key
        ]
        parts = alone if each.computed else []
        evidence = evidence_of(each, parts, plan_of(each, clients_of(each, parts)))
        seen = examine(evidence)
        verdict = verdict_of("baseline", evidence.steps, seen.findings) or "valid"
        found.append(PublishedVerdict(counts[key], each, seen, verdict))
    return found


def judged_text(found: Sequence[PublishedVerdict]) -> list[str]:
    """Return findings and checks without data by profile, then the totals.

    Checks that had data for no result are listed once, at the end.
    """
    common = _not_made(found)
    lines: list[str] = []
    for key in dict.fromkeys((each.baseline.profile, each.baseline.collection) for each in found):
        members = [
            each for each in found if (each.baseline.profile, each.baseline.collection) == key
        ]
        lines += [*_profile(*key, members), *_reasons(_not_made(members), common), ""]
    if common:
        lines += ["checks without data for any result", *_reasons(common, {}), ""]
    unmarked = [each for each in found if each.unmarked]
    tail = f"; {len(unmarked)} not marked as doubtful in their files" if unmarked else ""
    return [
        *lines,
        *_wrapped(f"{plural(len(found), 'published result')}: {_verdicts(found)}{tail}", ""),
    ]


def _profile(profile: str, collection: str, members: Sequence[PublishedVerdict]) -> Iterator[str]:
    made = sorted({len(each.seen.made) for each in members})
    count = " to ".join(str(each) for each in dict.fromkeys((made[0], made[-1])))
    yield from _wrapped(
        f"{profile} ({collection}): {_verdicts(members)}; {count} of {len(CHECKS)} checks ran", ""
    )
    for severity in ORDER:
        said: dict[tuple[str, str], list[PublishedVerdict]] = {}
        for each in members:
            for finding in each.seen.findings:
                if finding.severity == severity:
                    said.setdefault((finding.id, message_of(finding)), []).append(each)
        for (name, message), those in said.items():
            yield from _wrapped(f"{severity} {name}{_numbers(those, members)}: {message}", "  ")
    if unmarked := [each for each in members if each.unmarked]:
        yield from _wrapped(
            f"not marked as doubtful in the file{_numbers(unmarked, members)}:"
            " add validity: doubtful",
            "  ",
        )


def _not_made(members: Sequence[PublishedVerdict]) -> dict[str, str]:
    """Return the checks that had no data for any of the results, with the shortest reason."""
    made = {name for each in members for name in each.seen.made}
    missed = [check.id for check in CHECKS if check.id not in made]
    told = [reasons_of(each.seen.not_made) for each in members]
    return {name: min((each[name] for each in told), key=len) for name in missed}


def _reasons(not_made: Mapping[str, str], told: Mapping[str, str]) -> Iterator[str]:
    """Yield each reason with its checks; checks in `told` are left out."""
    reasons: dict[str, list[str]] = {}
    for name, reason in not_made.items():
        if name not in told:
            reasons.setdefault(reason, []).append(name)
    for reason, names in reasons.items():
        yield from _wrapped(f"did not run: {', '.join(names)}: {reason}", "  ")


def _numbers(those: Sequence[PublishedVerdict], of: Sequence[PublishedVerdict]) -> str:
    """Return the numbers of these results of a profile; empty if they are all of them."""
    return "" if len(those) == len(of) else f" {spans(each.number for each in those)}"


def _verdicts(found: Sequence[PublishedVerdict]) -> str:
    counts = Counter(each.verdict for each in found)
    return ", ".join(f"{counts[name]} {text}" for name, text in VERDICTS.items() if name in counts)  # type: ignore[index]


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False
    )


def judged_json(found: PublishedVerdict) -> dict[str, Any]:
    """Return the findings about one published result as plain data."""
    baseline = found.baseline
    return {
        "collection": baseline.collection,
        "profile": baseline.profile,
        "number": found.number,
        "label": baseline.label,
        "setup": baseline.setup,
        "at": dict(baseline.at),
        "validity": baseline.validity,
        "verdict": found.verdict,
        "findings": [with_message(finding) for finding in found.seen.findings],
        "checks": list(found.seen.made),
        "checks_not_made": reasons_of(found.seen.not_made),
    }

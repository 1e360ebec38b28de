"""What came of playing the corpus: a confusion matrix, rows lies, columns what was said."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.long.lies.lie import Lie
from tests.long.lies.play import Played
from tui.judge.catalogue import CHECKS

Outcome = Mapping[Lie, Sequence[Played]]
MISSED_OF, WRONG_OF, WEAKENED_OF = 20, 10, 100  # one in so many is allowed: lies, limiters, clean runs
LIMITERS = ("rate", "client-cpu", "network", "server-cpu", "client-device", "concurrency", "storage")


def row_text(lie: Lie, played: Sequence[Played]) -> str:
    """Return one line while it goes on: how often it was right, and what else was said."""
    right = sum(each.is_right(lie) for each in played)
    said = Counter(name for each in played for name in each.findings if name != lie.finding)
    others = ", ".join(f"{name} {count}" for name, count in said.most_common())
    failed = next((f"  failed: {each.failed}" for each in played if each.failed), "")
    limits = ", ".join(f"{name} {count}" for name, count in Counter(each.limiter for each in played).items() if name)
    return f"{lie.name:<31}{right:>3} of {len(played):<4}{lie.finding or lie.limiter:<14}{limits:<20} {others}{failed}"


def matrix_text(outcome: Outcome) -> Iterator[str]:
    """Yield the confusion matrix: how often each check spoke up in each row; its own one stands in brackets."""
    raised = {name for each in outcome.values() for one in each for name in (*one.findings, *one.remarks)}
    checks = [check.id for check in CHECKS if check.id in raised]
    limits = [name for name in LIMITERS if any(one.limiter == name for each in outcome.values() for one in each)]
    titles = [name if len(name) < 5 else name[:4] + "." for name in (*checks, *limits)]
    yield " " * 31 + "".join(f"{title:>6}" for title in titles)
    for lie, played in outcome.items():
        counts = [sum(each.names(name) for each in played) for name in checks]
        counts += [sum(each.limiter == name for each in played) for name in limits]
        own = [name in (lie.finding, lie.limiter) for name in (*checks, *limits)]
        yield f"{lie.name:<31}" + "".join(_cell(count, mine) for count, mine in zip(counts, own, strict=True))


def _cell(count: int, own: bool) -> str:
    return f"{f'[{count}]' if own else count or '.':>6}"


def failures(outcome: Outcome) -> Iterator[str]:
    """Yield what is not as it must be."""
    for lie, played in outcome.items():
        wrong = [each for each in played if not each.is_right(lie)]
        if not lie.clean and len(wrong) > len(played) // (MISSED_OF if lie.finding else WRONG_OF):
            yield f"{lie.name}: right in {len(played) - len(wrong)} of {len(played)}, e.g. {_what(wrong[0])}"
    clean = [(lie, each) for lie, played in outcome.items() if lie.clean for each in played if not each.disturbed]
    weakened = [(lie, each) for lie, each in clean if not each.is_right(lie)]
    if len(weakened) > len(clean) // WEAKENED_OF:
        yield f"clean runs: {len(weakened)} of {len(clean)} weakened"
        yield from (f"  {lie.name}: {_what(each)}" for lie, each in weakened)


def _what(played: Played) -> str:
    doubts = [text for text in played.messages if text.split()[0] in played.findings]
    return played.failed.strip() or "; ".join([*doubts, f"limited by {played.limiter or 'nothing that is known'}"])


def summary_text(outcome: Outcome) -> str:
    """Return the sums of all rows."""

    def right(chosen: list[Lie]) -> str:
        runs = [each.is_right(lie) for lie in chosen for each in outcome[lie] if not (lie.clean and each.disturbed)]
        return f"{sum(runs)} of {len(runs)} runs"

    lies, clean = [lie for lie in outcome if lie.finding], [lie for lie in outcome if lie.clean]
    limits = [lie for lie in outcome if lie.limiter and not lie.clean]
    text = f"lies named: {right(lies)}; limits named: {right(limits)}; clean runs left alone: {right(clean)}"
    aside = sum(each.disturbed for lie in clean for each in outcome[lie])
    return text + (f"; {aside} more set aside, for the hypervisor took over 1 % of the CPU" if aside else "")


def write_json(path: Path, outcome: Outcome, seconds: float) -> None:
    """Write everything that was said, run by run."""
    rows = [
        {
            "name": lie.name,
            "finding": lie.finding or None,
            "limiter": lie.limiter or None,
            "clean": lie.clean,
            "right": sum(each.is_right(lie) for each in played),
            "runs": [
                {"findings": each.findings, "remarks": each.remarks, "limiter": each.limiter or None,
                 "messages": each.messages, "failed": each.failed or None, "stolen": round(each.stolen, 4)}
                for each in played
            ],
        }
        for lie, played in outcome.items()
    ]  # fmt: skip
    path.write_text(json.dumps({"seconds": round(seconds, 1), "rows": rows}, indent=1) + "\n", encoding="utf-8")

"""What is printed while lies are played, what is not as it must be, and everything that was said,
as JSON.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.long.lies.doctored.case import JudgedCase
from tests.long.lies.lie import Lie
from tests.long.lies.play import Played
from tests.long.lies.tally import Outcome, _clean, _lies, _limited, missed

LEAST_NAMED, MOST_WEAKENED = 0.95, 0.02
LEAST_LIMITED = {False: 0.90, True: 0.80}  # undisturbed, with busy CPUs


def row_text(lie: Lie, played: Sequence[Played]) -> str:
    """Return one line while it goes on: how often it was right, and what else was said."""
    right = sum(each.is_right(lie) for each in played)
    said = Counter(name for each in played for name in each.findings if name != lie.finding)
    others = ", ".join(f"{name} {count}" for name, count in said.most_common())
    failed = next((f"  failed: {each.failed}" for each in played if each.failed), "")
    limits = ", ".join(
        f"{name} {count}"
        for name, count in Counter(each.bottleneck for each in played).items()
        if name
    )
    failed += next((f"  not staged: {each.undone}" for each in played if each.undone), "")
    back = ", ".join(name for each in played for name in each.retracted)
    failed += f"  shown live, then withdrawn: {back}" if back else ""
    return (
        f"{lie.name:<36}{right:>3} of"
        f" {len(played):<4}{lie.finding or lie.bottleneck:<16}{limits:<20} {others}{failed}"
    )


def failures(outcome: Outcome, doctored: Sequence[JudgedCase]) -> Iterator[str]:
    """Yield what is not as it must be."""
    named = [each.is_named(lie) for lie, each in _lies(outcome)] + [
        each.named for each in doctored if each.case.aims
    ]
    if named and sum(named) < LEAST_NAMED * len(named):
        yield f"lies named: {sum(named)} of {len(named)}"
        yield from (f"  {row['lie']}: {row['said']}" for row in missed(outcome, doctored))
    for busy, least in LEAST_LIMITED.items():
        where = "with busy CPUs" if busy else "undisturbed"
        limited = [each.is_limited(lie) for lie, each in _limited(outcome, busy)]
        if sum(limited) < least * len(limited):
            yield f"bottleneck right, {where}: {sum(limited)} of {len(limited)}"
        runs = _clean(outcome, busy)
        wrong = [(lie, each) for lie, each in runs if each.alarms(lie)]
        if len(wrong) > max(1, MOST_WEAKENED * len(runs)):
            yield f"clean runs weakened, {where}: {len(wrong)} of {len(runs)}"
            yield from (f"  {lie.name}: {', '.join(each.alarms(lie))}" for lie, each in wrong)


def write_json(path: Path, outcome: Outcome, doctored: Sequence[JudgedCase], when: str) -> None:
    """Write everything that was said, run by run, and when it was played."""
    rows = [
        {
            "name": lie.name, "finding": lie.finding or None, "bottleneck": lie.bottleneck or None,
            "clean": lie.clean,
            "generated": lie.generated, "company": lie.company, "options": lie.options,
            "right": sum(each.is_right(lie) for each in played),
            "runs": [
                {"findings": each.findings, "notes": each.notes,
                    "bottleneck": each.bottleneck or None,
                 "messages": each.messages, "failed": each.failed or None,
                 "stolen": round(each.stolen, 4),
                 "others": each.others, "neighbours": each.neighbours,
                 "retracted": each.retracted, "tool_silent": each.tool_silent,
                 "confirmed": each.confirmed, "undone": each.undone, "checked": each.checked}
                for each in played
            ],
        }
        for lie, played in outcome.items()
    ]  # fmt: skip
    changed = [
        {"class": each.case.kind, "lie": each.case.lie, "what": each.case.what,
            "aims": each.case.aims,
         "said": sorted(each.said), "named": each.named, "unseen": each.case.unseen or None}
        for each in doctored
    ]  # fmt: skip
    document = {"when": when, "rows": rows, "doctored": changed}
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")

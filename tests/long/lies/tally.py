"""What came of playing lies and clean runs, as tables: recall and false alarms with intervals,
confusion of limits.
"""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

from tests.long.lies.classes import OF_CHECK, PRINCIPLES, kind_of
from tests.long.lies.doctored.case import JudgedCase
from tests.long.lies.lie import Lie
from tests.long.lies.play import BUSY, Played
from tui.metrics import units

Outcome = Mapping[Lie, Sequence[Played]]
Row = dict[str, Any]
Z = 1.96
LIVE_S = 15  # Live shows no finding of a step before that
BOTTLENECKS = (
    "rate",
    "client-cpu",
    "network",
    "server-cpu",
    "client-device",
    "concurrency",
    "storage",
)


@dataclass(frozen=True, slots=True)
class Conditions:
    """Where and how it was played; `load` is the machine's before it."""

    seed: int
    begun: float
    seconds: float
    load: float


def interval(right: int, of: int) -> tuple[float, float]:
    """Return the 95 % interval of a share (Wilson 1927)."""
    if not of:
        return 0.0, 1.0
    share, square = right / of, Z * Z / of
    middle = (share + square / 2) / (1 + square)
    half = Z * sqrt(share * (1 - share) / of + square / (4 * of)) / (1 + square)
    return max(0.0, middle - half), min(1.0, middle + half)


def share_text(right: int, of: int) -> str:
    """Return a share with its interval: ``97.5 % (92.9 to 99.1)``."""
    if not of:
        return "–"
    low, high = interval(right, of)
    return f"{100 * right / of:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def _of(right: int, of: int) -> str:
    return f"{right} of {of}" if of else "–"


def _lies(outcome: Outcome) -> Iterable[tuple[Lie, Played]]:
    """Return lies and their runs, without those that were not staged."""
    runs = ((lie, each) for lie, played in outcome.items() if lie.finding for each in played)
    return ((lie, each) for lie, each in runs if not each.undone)


def _clean(outcome: Outcome, busy: bool) -> list[tuple[Lie, Played]]:
    """Return clean runs, alone or beside other programs that use the CPUs."""
    runs = [(lie, each) for lie, played in outcome.items() if lie.clean for each in played]
    return [(lie, each) for lie, each in runs if each.is_busy(lie) == busy]


def sections(
    outcome: Outcome, doctored: Sequence[JudgedCase], at: Conditions
) -> dict[str, list[Row]]:
    """Return all tables by name."""
    return {
        "conditions": conditions(outcome, doctored, at),
        "goals": goals(outcome, doctored),
        "classes": classes(outcome, doctored),
        "checks": checks(outcome, doctored),
        "clean": clean(outcome),
        "aside": aside(outcome),
        "limits": [*confusion(outcome, busy=False), *confusion(outcome, busy=True)],
        "unseen": unseen(doctored),
        "missed": missed(outcome, doctored),
        "silent": silent(outcome),
    }


KINDS = (
    "examples", "staged lies", "clean runs", "runs of bottlenecks", "examples of bottlenecks",
)  # fmt: skip


def _kind_of_run(lie: Lie) -> str:
    """Return which part of a run of `make lies` a run belongs to: one of KINDS."""
    if lie.clean:
        return KINDS[2]
    if lie.finding:
        return KINDS[1] if lie.generated else KINDS[0]
    return KINDS[3] if lie.generated else KINDS[4]


def code() -> str:
    """Return the commit of the code that is measured, with `-dirty` if files differ from it."""
    command = ["git", "describe", "--always", "--dirty"]
    done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True)
    return done.stdout.strip() or "no checkout"


def conditions(outcome: Outcome, doctored: Sequence[JudgedCase], at: Conditions) -> list[Row]:
    """Return when and where, and how many of everything."""
    runs = [each for played in outcome.values() for each in played]
    others = sorted(each.others for each in runs if each.others is not None)
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")),
        "unknown CPU",
    )
    used = f"{100 * others[len(others) // 2]:.0f} % at the median" if others else "not counted"
    busy = sum(
        each.is_busy(lie) for lie, played in outcome.items() if not lie.company for each in played
    )
    of = sum(len(played) for lie, played in outcome.items() if not lie.company)
    beside = sum(
        each.neighbours for lie, played in outcome.items() if not lie.company for each in played
    )
    kinds = Counter(_kind_of_run(lie) for lie, played in outcome.items() for _ in played)
    parts = ", ".join(f"{kinds[name]} {name}" for name in KINDS if kinds[name])
    pairs = {
        "when": f"{when_text(at.begun, at.seconds)}; seed {at.seed}",
        "where": (
            f"{os.cpu_count()} cores ({model}), Linux {platform.release().split('-')[0]}; load"
            f" {at.load:.1f}"
        ),
        "code": code(),
        "runs": f"{len(runs)} runs ({parts}), {len(doctored)} doctored results",
        "CPU used by other processes": (
            f"{used}, in the worst second of each run; above {BUSY:.0%} in {busy} of the {of} runs "
            "that were not started beside busy programs (such runs count as busy);"
            f" {beside} of the {of} ran side by side, and do not count as others to each other"
        ),
    }
    return [{"": name, "value": text} for name, text in pairs.items()]


def when_text(begun: float, seconds: float) -> str:
    """Return when something was played, and for how long."""
    return (
        f"{datetime.datetime.fromtimestamp(begun, datetime.UTC):%Y-%m-%d %H:%M} UTC,"
        f" {seconds / 60:.0f} minutes"
    )


def goals(outcome: Outcome, doctored: Sequence[JudgedCase]) -> list[Row]:
    """Return each goal beside what was reached."""
    staged = [each.is_named(lie) for lie, each in _lies(outcome) if lie.generated]
    named = [*staged, *(each.named for each in doctored if each.case.aims)]
    rows = [
        {
            "goal": "generated lies named: 95 %",
            "runs": len(named),
            "reached": share_text(sum(named), len(named)),
        },
        {
            "goal": "the same, including lies within the checks' tolerances, named by any check",
            "runs": len(staged) + len(doctored),
            "reached": share_text(
                sum(staged) + sum(each.named or bool(each.said) for each in doctored),
                len(staged) + len(doctored),
            ),
        },
    ]
    for busy, where in ((False, "undisturbed"), (True, "with busy CPUs")):
        runs = _clean(outcome, busy)
        wrong = sum(bool(each.alarms(lie)) for lie, each in runs)
        rows.append(
            {
                "goal": f"false alarms, {where}: at most 2 %",
                "runs": len(runs),
                "reached": share_text(wrong, len(runs)),
            }
        )
        seen = [(lie, each) for lie, each in runs if lie.runtime_s > LIVE_S]
        rows.append({
            "goal": f"shown live, then withdrawn, {where}, in runs of more than {LIVE_S} s: none",
            "runs": len(seen), "reached": units.plural(taken_back(seen).total(), "finding"),
        })  # fmt: skip
    for busy, where, least in ((False, "undisturbed", 90), (True, "with busy CPUs", 80)):
        limited = [each.is_limited(lie) for lie, each in _limited(outcome, busy)]
        text = f"bottleneck right, {where}: {least} %"
        rows.append(
            {"goal": text, "runs": len(limited), "reached": share_text(sum(limited), len(limited))}
        )
    return rows


def classes(outcome: Outcome, doctored: Sequence[JudgedCase]) -> list[Row]:
    """Return how much of each class was named."""
    rows: list[Row] = []
    for kind, principle in PRINCIPLES.items():
        examples = [
            each.is_named(lie)
            for lie, each in _lies(outcome)
            if lie.kind == kind and not lie.generated
        ]
        staged = [
            each.is_named(lie) for lie, each in _lies(outcome) if lie.kind == kind and lie.generated
        ]
        changed = [each.named for each in doctored if each.case.kind == kind and each.case.aims]
        new = [*staged, *changed]
        rows.append({
            "class": kind, "a true result": principle,
            "examples": _of(sum(examples), len(examples)),
            "staged": _of(sum(staged), len(staged)), "doctored": _of(sum(changed), len(changed)),
            "recall, generated (95 %)": share_text(sum(new), len(new)),
        })  # fmt: skip
    return rows


def checks(outcome: Outcome, doctored: Sequence[JudgedCase]) -> list[Row]:
    """Return, by check, the lies that are its own, and how often it spoke up in clean runs."""
    idle, busy = _clean(outcome, False), _clean(outcome, True)
    rows: list[Row] = []
    for name in (check for of_kind in OF_CHECK.values() for check in of_kind):
        own = [
            (each.names(name), each.is_named(lie))
            for lie, each in _lies(outcome)
            if lie.finding == name
        ]
        own += [
            (name in each.said, each.named) for each in doctored if each.case.aims[:1] == (name,)
        ]
        alarms = [
            [name in each.alarms(lie) for lie, each in runs if name in each.checked]
            for runs in (idle, busy)
        ]
        itself = sum(one for one, _ in own)
        rows.append({
            "check": f"`{name}`", "class": kind_of(name), "lies": len(own) or "none",
            "named by it (95 %)": share_text(itself, len(own)),
            "by it or another": _of(sum(any_ for _, any_ in own), len(own)),
            "false alarms": _of(sum(alarms[0]), len(alarms[0])),
            "with busy CPUs": _of(sum(alarms[1]), len(alarms[1])),
        })  # fmt: skip
    return rows


def clean(outcome: Outcome) -> list[Row]:
    """Return which clean runs were weakened."""
    rows: list[Row] = []
    for busy, where in ((False, "undisturbed"), (True, "with busy CPUs")):
        runs = _clean(outcome, busy)
        wrong = [(lie, each) for lie, each in runs if each.alarms(lie)]
        said = Counter(name for lie, each in wrong for name in set(each.alarms(lie)))
        rows.append({
            "clean runs": where, "runs": len(runs),
            "profiles": len({lie.name.removesuffix(", busy") for lie, _ in runs}),
            "weakened": share_text(len(wrong), len(runs)),
            "runs with": ", ".join(f"`{name}` {count}" for name, count in said.most_common()) or "–",
            "shown live, then withdrawn": ", ".join(
                f"`{name}` {count}" for name, count in taken_back(runs).most_common()) or "0",
        })  # fmt: skip
    return rows


def aside(outcome: Outcome) -> list[Row]:
    """Return the findings of clean runs that something else than benchtui measured too."""
    found: dict[tuple[str, str], Counter[bool]] = {}
    for busy in (False, True):
        for lie, each in _clean(outcome, busy):
            for name, why in each.aside(lie).items():
                found.setdefault((name, why), Counter())[busy] += 1
    return [
        {
            "finding": f"`{name}`", "confirmed by": why,
            "undisturbed": count[False], "with busy CPUs": count[True],
        }
        for (name, why), count in sorted(found.items())
    ]  # fmt: skip


def taken_back(runs: Sequence[tuple[Lie, Played]]) -> Counter[str]:
    """Count what Live told of runs and their results do not have."""
    return Counter(name for _, each in runs for name in each.retracted)


def _limited(outcome: Outcome, busy: bool) -> list[tuple[Lie, Played]]:
    runs = [
        (lie, each)
        for lie, played in outcome.items()
        if lie.bottleneck and lie.generated and not lie.clean
        for each in played
    ]
    return [(lie, each) for lie, each in runs if each.is_busy(lie) == busy]


def confusion(outcome: Outcome, busy: bool) -> list[Row]:
    """Return how often each bottleneck was named where it was, or was not, the one."""
    runs = _limited(outcome, busy)
    rows: list[Row] = []
    for truth in dict.fromkeys(
        lie.bottleneck for lie, _ in sorted(runs, key=lambda run: _place(run[0].bottleneck))
    ):
        own = [each for lie, each in runs if lie.bottleneck == truth]
        right = sum(each.is_limited(lie) for lie, each in runs if lie.bottleneck == truth)
        said = Counter(each.bottleneck or "none" for each in own)
        columns = {name: said.get(name, 0) or "" for name in (*BOTTLENECKS, "none")}
        where = "busy" if busy else "idle"
        rows.append(
            {
                "CPUs": where,
                "true bottleneck": truth,
                **columns,
                "right (95 %)": share_text(right, len(own)),
            }
        )
    return rows


def _place(bottleneck: str) -> int:
    return BOTTLENECKS.index(bottleneck.split(" or ", maxsplit=1)[0])


def unseen(doctored: Sequence[JudgedCase]) -> list[Row]:
    """Return why each change was too small to be seen."""
    found: dict[str, list[JudgedCase]] = {}
    for each in doctored:
        if not each.case.aims:
            found.setdefault(each.case.unseen, []).append(each)
    rows: list[Row] = []
    for reason, own in sorted(found.items(), key=lambda item: -len(item[1])):
        noticed = sum(bool(one.said) for one in own)
        what = own[0].case.what
        rows.append(
            {
                "reason": reason,
                "doctored": len(own),
                "e.g.": what,
                "found anyway": noticed,
            }
        )
    return rows


def missed(outcome: Outcome, doctored: Sequence[JudgedCase]) -> list[Row]:
    """Return every lie that nobody named who must."""
    rows: list[Row] = []
    for lie, each in _lies(outcome):
        if not each.is_named(lie):
            must = " and ".join(filter(None, (lie.finding, lie.second)))
            said = each.failed.strip()[-80:] or ", ".join(each.findings) or "nothing"
            rows.append(
                {"class": lie.kind, "lie": lie.name, "must be named by": f"`{must}`", "said": said}
            )
    for one in doctored:
        if one.case.aims and not one.named:
            rows.append({
                "class": one.case.kind, "lie": f"{one.case.lie}: {one.case.what}",
                "must be named by": f"`{one.case.aims[0]}`",
                "said": ", ".join(sorted(one.said)) or one.failed or "nothing",
            })  # fmt: skip
    return rows


def silent(outcome: Outcome) -> list[Row]:
    """Return in how many staged lies the load generator itself ended with 0 and without a word on
    stderr.
    """
    rows: list[Row] = []
    for kind in PRINCIPLES:
        runs = [(lie, each) for lie, each in _lies(outcome) if lie.kind == kind and not each.failed]
        if runs:
            quiet = sum(each.tool_silent for _, each in runs)
            named = sum(each.is_named(lie) for lie, each in runs)
            rows.append({
                "class": kind, "staged lies": len(runs),
                "fio: exit 0, nothing on stderr": _of(quiet, len(runs)),
                "benchtui names it": _of(named, len(runs)),
            })  # fmt: skip
    return rows

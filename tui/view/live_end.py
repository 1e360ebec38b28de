"""The conclusion of a run that has ended, in one line: verdict, length, bottleneck."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.judge.severity import by_weight
from tui.judge.wording import name_of
from tui.model.plain import some
from tui.text.line import BAD, BRIGHT, GOOD, TEXT, WARN, Run, width_of_runs
from tui.view.live_health import GAP, NO_TEXT, limited_by
from tui.view.live_hosts import STRAGGLER
from tui.view.step_notes import VERDICTS

if TYPE_CHECKING:
    from tui.library.load import KeptVerdict

MARKS = {"valid": ("✓", GOOD), "valid-with-warnings": ("!", WARN), "invalid": ("✗", BAD)}
NAMED = 3  # checks


def ended_runs(
    kept: KeptVerdict | None, reason: str, length: str, hosts: int, room: int
) -> list[Run]:
    """Return the verdict with the checks behind it, why the run ended, how long it measured, and
    its bottleneck, as far as they fit.

    `kept`: the run's record; None if it is not written yet. `reason`, `length`: left
    out if empty. `hosts`: number of hosts.
    """
    why: list[Run] = [(reason, TEXT)] if reason else []
    lasted: list[Run] = [(length, TEXT)] if length else []
    verdict, checks = _verdict(kept)
    limit = NO_TEXT
    if kept is not None and kept.bottleneck is not None:
        limit = limited_by(kept.bottleneck, hosts)
    versions = (
        _joined(checks, why, lasted, limit.whole),
        _joined(checks, why, lasted, limit.brief),
        _joined(checks, why, lasted if not limit.brief else [], limit.brief),
        _joined(checks, why, limit.briefest),
        _joined(checks, why),
        _joined(verdict, why, limit.briefest),
    )
    fits = (runs for runs in versions if width_of_runs(runs) <= room)
    return next(fits, _joined(verdict, why or lasted))


def _verdict(kept: KeptVerdict | None) -> tuple[list[Run], list[Run]]:
    """Return the verdict alone, and with the names of the checks that found errors or warnings.

    Stragglers are left out: the health line has their names.
    """
    if kept is None or kept.verdict not in MARKS:
        return [], []
    mark, role = MARKS[kept.verdict]
    verdict: Run = (f"{mark} {VERDICTS[kept.verdict]}", role)
    wrong = (each for each in by_weight(kept.findings) if each.severity != "info")
    names = dict.fromkeys(name_of(each.id) for each in wrong if each.id != STRAGGLER)
    return [verdict], [verdict, *([(f": {some(names, NAMED)}", BRIGHT)] if names else [])]


def _joined(*parts: list[Run]) -> list[Run]:
    return [run for part in parts if part for run in (GAP, *part)][1:]

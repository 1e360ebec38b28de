"""For lists: earlier runs with the same setup, and parameters in which runs of a profile differ."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from tui.library.summary import RunSummary

COUNTED = ("complete", "imported")


class EarlierRuns:
    """Complete or imported runs that are not invalid, by setup and by the unit of their headline.

    The setup consists of the profile's load, parameters, points, hosts and target.
    """

    def __init__(self, runs: Iterable[RunSummary] = ()) -> None:
        self.newest_year = max((run.utc or "" for run in runs), default="")[:4]
        self._runs: dict[tuple[str, str], list[RunSummary]] = {}
        for run in sorted(filter(counts, runs), key=_when):
            self._runs.setdefault((run.setup, run.headline_unit), []).append(run)

    def earlier(self, run: RunSummary) -> Sequence[RunSummary]:
        """Return the earlier runs with the setup of this one, newest first."""
        alike = self._runs.get((run.setup, run.headline_unit), [])
        return alike[: bisect_left(alike, _when(run), key=_when)][::-1]

    def change(self, run: RunSummary) -> float | None:
        """Return the change of the headline since the run before, as a share.

        None without such a run, or if this one is incomplete or invalid.
        """
        if not counts(run) or not (before := self.earlier(run)):
            return None
        return (run.headline_value or 0.0) / (before[0].headline_value or 1.0) - 1


def counts(run: RunSummary) -> bool:
    """Return whether a run is complete or imported, not invalid, has a figure and a known setup."""
    return (
        bool(run.setup)
        and run.state in COUNTED
        and run.verdict != "invalid"
        and (run.headline_value or 0) > 0
    )


def told_apart(runs: Iterable[RunSummary]) -> dict[str, str]:
    """Return the parameters in which runs of the same profile differ, by run ID: ``iodepth=16``.

    A parameter that is the target comes last. Runs of a profile are left out if
    all their parameters are equal.
    """
    by_profile: dict[str, list[RunSummary]] = {}
    for run in runs:
        if run.params and run.profile:
            by_profile.setdefault(run.profile, []).append(run)
    found: dict[str, str] = {}
    for alike in by_profile.values():
        names = list(dict.fromkeys(name for run in alike for name in run.params))
        values = {name: {run.params.get(name) for run in alike} for name in names}
        targets = {run.target for run in alike}
        apart = [name for name in names if len(values[name]) > 1]
        apart.sort(key=lambda name: bool(values[name] & targets))
        for run in alike if apart else ():
            said = (f"{name}={run.params[name]}" for name in apart if name in run.params)
            found[run.run_id] = " ".join(said)
    return found


def _when(run: RunSummary) -> tuple[str, str]:
    return run.utc or "", run.run_id

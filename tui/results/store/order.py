"""In which order runs are listed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from tui.results.store.marks import tags_text
from tui.results.store.summary import RunSummary

WORST_FIRST = ("invalid", "valid-with-warnings", "valid", None)
FURTHEST_FIRST = ("running", "interrupted", "unreadable", "failed", "aborted", "partial", "complete")
LESS_IS_BETTER = ("ns",)  # units of headlines


class Order(Struct, frozen=True):
    """What runs are sorted by; `falling`: the largest comes first."""

    key: Callable[[RunSummary], Any]
    falling: bool = False


def by_name(of: Callable[[RunSummary], str]) -> Order:
    """Return an order by a text; runs without one come last."""
    return Order(lambda run: (not of(run), of(run).lower()))


def _headline(run: RunSummary) -> tuple[bool, str, float]:
    value = run.headline_value
    if value is None:
        return True, "", 0.0
    return False, run.headline_unit, value if run.headline_unit in LESS_IS_BETTER else -value


ORDERS: dict[str, Order] = {
    "started": Order(lambda run: (run.utc or "", run.run_id), falling=True),
    "profile": by_name(lambda run: run.profile),
    "tags": by_name(lambda run: tags_text(run.tags)),
    "target": by_name(lambda run: run.target),
    "title": by_name(lambda run: run.title),
    "state": Order(lambda run: FURTHEST_FIRST.index(run.state) if run.state in FURTHEST_FIRST else len(FURTHEST_FIRST)),
    "verdict": Order(lambda run: WORST_FIRST.index(run.verdict)),
    "hosts": Order(lambda run: len(run.hosts), falling=True),
    "headline": Order(_headline),  # the best of each unit first
    "time": Order(lambda run: run.duration_s or 0.0, falling=True),
    "star": Order(lambda run: not run.starred),
    "owner": Order(lambda run: run.owner.lower()),  # our own first
}


def ordered(runs: Sequence[RunSummary], name: str, *, reverse: bool = False) -> list[RunSummary]:
    """Return runs in an order of `ORDERS`; equal ones stay as they are, newest first. Raises KeyError."""
    order = ORDERS[name]
    return sorted(runs, key=order.key, reverse=order.falling != reverse)

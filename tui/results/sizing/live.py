"""A search while it goes on: what is known so far, what is being measured, how long it may still take."""

from __future__ import annotations

from dataclasses import dataclass

from tui.journal.state import RunState
from tui.model.plan import Plan
from tui.model.search import Offer, Point
from tui.model.search_record import SearchRecord
from tui.results.sizing.now import PointNow, point_now
from tui.results.sizing.record import conclude, search_so_far
from tui.sizing.budget import cost_s


@dataclass(frozen=True, slots=True)
class SearchView:
    """What Live shows of a search: `elapsed_s` of `offer`, which is measured now; `left_s`: so much more at most.

    `elapsed_s` is below 0 as long as its load goes on without being measured.
    `behind`: what follows from the newest points is still worked out.
    """

    record: SearchRecord
    offer: Offer | None = None
    elapsed_s: float = 0.0
    left_s: float | None = None
    ended: bool = False
    behind: bool = False
    now: PointNow | None = None  # what `offer` came to so far

    @property
    def fraction(self) -> float:
        """How much of what it may cost is spent: points or time, whichever is more."""
        record = self.record
        by_points = len(record.points) / record.most_points if record.most_points else 0.0
        by_time = record.spent_s / record.within_s if record.within_s else 0.0
        return 1.0 if self.ended else min(1.0, max(by_points, by_time))


class LiveSearch:
    """Keeps what was concluded of a search, so that each point is worked out once, off the thread that draws."""

    def __init__(self, plan: Plan | None) -> None:
        self.plan = plan
        self.record: SearchRecord | None = None
        self._points: tuple[Point, ...] = ()
        self._concluded: tuple[Point, ...] = ()  # the points that answer and knee are of

    @property
    def searches(self) -> bool:
        """Whether the run is a search at all."""
        return self.plan is not None and self.plan.search is not None

    def take(self, state: RunState) -> bool:
        """Take what was decided since; True: `conclude` has something to do."""
        points = state.search.points
        if self.plan is None or self.plan.search is None or (points == self._points and self.record is not None):
            return False
        before, self._points = self.record, points
        self.record = search_so_far(self.plan, self.plan.search, state)
        if before is not None:
            self.record.answer, self.record.knee, self.record.scaling = before.answer, before.knee, before.scaling
        return bool(points)

    def conclude(self) -> None:
        """Work out what follows from the points; may run in another thread."""
        record, points = self.record, self._points
        if record is not None and self.plan is not None and self.plan.search is not None:
            made = conclude(record.model_copy(), self.plan.search, points)
            if record is self.record:
                self.record, self._concluded = made, points

    def view(self, state: RunState, now_t: float) -> SearchView:
        """Return what is to be shown."""
        record = self.record or SearchRecord(kind="capacity", most_points=0)
        opened = None if state.ended else state.search.open
        offer = opened.offer if opened is not None else None
        measuring = opened is not None and state.phase == "measure" and state.step == opened.step
        elapsed = max(0.0, now_t - state.phase_started_t) if measuring else 0.0
        behind = self._concluded != self._points
        left_s = self._left_s(record, offer, elapsed)
        of_it = elapsed - offer.lead_s if offer is not None and measuring else 0.0
        measured = state.at_step(opened.step).measurement if opened is not None and measuring else None
        now = point_now(record, measured) if measured is not None else None
        return SearchView(record, offer, of_it, left_s, state.ended, behind, now)

    def _left_s(self, record: SearchRecord, offer: Offer | None, elapsed_s: float) -> float | None:
        """Return the seconds of load and pauses that it may still take at most; None: nobody can tell."""
        by_time = record.within_s - record.spent_s - elapsed_s if record.within_s is not None else None
        now = [cost_s(offer, offer.seconds)] if offer is not None else []
        a_point = max([cost_s(point.offer, point.seconds) for point in self._points] + now, default=0.0)
        by_points = (record.most_points - len(record.points)) * a_point - elapsed_s if a_point else None
        known = [left for left in (by_time, by_points) if left is not None]
        return max(0.0, min(known)) if known else None

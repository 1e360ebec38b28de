"""The content of Compare: marked runs, grouped into sides, compared with the first.

No widgets.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING

from msgspec import Struct

from tui.metrics.units import plural
from tui.text.line import ACCENT, LABEL, WARN, Line, wrap

if TYPE_CHECKING:
    from tui.analysis.compare import Comparison
    from tui.analysis.criteria import JudgedCriterion
    from tui.model.record import RunRecord


class ComparisonRequest(Struct, frozen=True):
    """How the user wants runs compared.

    None (the default): runs made by `ab` are grouped, and their settings may differ.
    """

    turn: int = 0  # which side is A
    join: bool | None = None
    accept: bool | None = None


class ShownComparison(Struct, frozen=True):
    """A comparison as shown on the screen.

    `can_join`: whether runs can be grouped into sides. `can_accept`: the differences that the user
    may accept, `across` those accepted.
    """

    sides: tuple[tuple[Path, ...], ...]
    found: list[tuple[Comparison, list[JudgedCriterion]]]
    by: str = ""  # what runs are joined by; empty: runs are not joined
    across: tuple[str, ...] = ()
    can_join: bool = False
    can_accept: tuple[str, ...] = ()
    titles: dict[str, str] = {}  # of runs, by ID

    def names(self, found: Comparison) -> tuple[str, str]:
        """Return the names of both sides: start and title of a run, or ``3 runs``."""
        first, second = (self._called(side) for side in (found.a, found.b))
        return first, second

    def _called(self, side: Sequence[RunRecord]) -> str:
        from tui.view.comparison import when

        if len(side) > 1:
            return plural(len(side), "run")
        title = self.titles.get(side[0].run_id, "")
        return f"{when(side[0])[5:] or side[0].run_id}  {title}".rstrip()

    def lines(self, width: int) -> list[Line]:
        """Return the effects of the keys, and how many runs each side has."""
        told = []
        if len(self.sides) > 2:
            told += [f"x makes the next {self._thing} A"]
        if self.by:
            told += [f"A is {self._first()}; sides by {self.by}; s splits them into runs"]
        elif self.can_join:
            told += ["s joins repetitions into sides"]
        lines = [Line(part) for part in wrap([("; ".join(told), LABEL)], width)] if told else []
        if self.across:
            hint = [
                (
                    f"allowed to differ: {', '.join(self.across)}; p requires them to match",
                    LABEL,
                )
            ]
            lines += [Line(part) for part in wrap(hint, width)]
        elif self.can_accept:
            hint = [
                ("p ", ACCENT),
                (f"compares them despite different {', '.join(self.can_accept)}", WARN),
            ]
            lines += [Line(part) for part in wrap(hint, width)]
        return lines

    @property
    def _thing(self) -> str:
        return "side" if self.by else "run"

    def _first(self) -> str:
        others = [
            f"{name} {len(side)}"
            for name, side in zip(ascii_uppercase[1:], self.sides[1:], strict=False)
        ]
        return ", ".join([plural(len(self.sides[0]), "run"), *others])


def compared(runs: Sequence[Path], noise: Path, wish: ComparisonRequest) -> ShownComparison:
    """Return each side compared with the first, and judged by the thresholds of its profile.

    `noise`: file of noise floors. Raises BenchtuiError.
    """
    from tui.analysis.compare import apart, compare, differing, joined
    from tui.analysis.criteria import judge_against
    from tui.analysis.measured import NoiseFloors
    from tui.library.load import load_record
    from tui.library.summary import read_marks, with_tags

    records = [with_tags(load_record(run_dir), read_marks(run_dir)) for run_dir in runs]
    alike = joined(records)
    join = bool(alike.by) and (alike.meant if wish.join is None else wish.join)
    sides = (alike if join else apart(records)).turned(wish.turn)
    first, *others = [[records[place] for place in side] for side in sides.places]
    floors = NoiseFloors.read(noise)
    found = [compare(first, other, floors) for other in others]
    able = differing(found)
    across = (
        able if able and ((join and alike.meant) if wish.accept is None else wish.accept) else ()
    )
    if across:
        found = [compare(first, other, floors, across) for other in others]
    judged = [(each, judge_against(each)) for each in found]
    paths = tuple(tuple(runs[place] for place in side) for side in sides.places)
    return ShownComparison(
        paths,
        judged,
        sides.by,
        across,
        can_join=bool(alike.by),
        can_accept=able,
        titles={run_dir.name: read_marks(run_dir).title for run_dir in runs},
    )

"""The two lines that say which run this is and how far it got, and the strip below them when it is over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tui.app.widgets.graph import meter
from tui.app.widgets.lines import Lines
from tui.metrics.sparkline import Symbols
from tui.metrics.units import clock, share
from tui.text.line import LABEL, TEXT, VALUE, Line, Run, clip, fit, spread, width_of_runs

BADGES = {"running": "badge", "complete": "badge-good", "partial": "badge-warn", "aborted": "badge-warn"}
BADGES |= {"failed": "badge-bad", "stopping": "badge-warn", "starting": "badge", "gone": "badge-bad"}
LEAST_BAR = 12
ROUND_UP_S = 0.999  # what is left is none only at the end


@dataclass(frozen=True, slots=True)
class RunHead:
    """What the header shows. `trail` holds (phase, mark) with mark one of done, now, failed, empty."""

    profile: str = ""
    state: str = "starting"
    facts: tuple[str, ...] = ()
    mode: str = ""  # REPLAY 2x, held, refresh rate
    trail: tuple[tuple[str, str], ...] = ()
    fraction: float | None = None
    elapsed_s: float = 0.0
    expected_s: float | None = None
    remaining_s: float | None = None
    at_most: bool = False  # what is left may be less
    about: bool = False  # what is left is a guess


class RunHeader(Lines):
    """Profile, state, hosts, step and time; below, the phases and a bar."""

    DEFAULT_CSS = "RunHeader { height: 2; padding: 0 1; }"

    def __init__(self, symbols: Symbols, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.symbols = symbols
        self.head = RunHead()

    def show(self, head: RunHead) -> None:
        """Show another state."""
        self.head = head
        self.update_lines()

    def build(self, width: int, height: int) -> list[Line]:  # noqa: ARG002
        """The two lines."""
        return [Line.of(*self._first(width)), Line.of(*self._second(width))]

    def _first(self, width: int) -> list[Run]:
        head = self.head
        right: list[Run] = [(head.mode + "  ", "warn")] if head.mode else []
        right += self._time()
        badge = BADGES.get(head.state, "badge")
        left: list[Run] = [(f" {head.state.upper()} ", badge), (" ", TEXT), (head.profile, "title"), ("  ", TEXT)]
        facts = list(head.facts)
        while facts and self._width([*left, (" · ".join(facts), LABEL), *right]) + 2 > width:
            facts.pop()
        return spread([*left, (" · ".join(facts), LABEL)], right, width)

    def _time(self) -> list[Run]:
        head = self.head
        runs: list[Run] = [(clock(head.elapsed_s), VALUE)]
        if head.expected_s:
            runs.append((f" / {clock(head.expected_s)}", LABEL))
        if head.remaining_s is not None:
            about = "≤ " if head.at_most else "~" if head.about else ""
            runs.append((f"  left {about}{clock(head.remaining_s + ROUND_UP_S)}", LABEL))
        return runs

    def _second(self, width: int) -> list[Run]:
        trail = self._trail(width)
        room = width - self._width(trail) - 2
        if self.head.fraction is None or room < LEAST_BAR:
            return clip(trail, width)
        percent = f" {share(self.head.fraction):>5}"
        return [*trail, ("  ", TEXT), *meter(self.head.fraction, room - len(percent), self.symbols), (percent, VALUE)]

    def _trail(self, width: int) -> list[Run]:
        """Return the phases; only the current one and a count of those passed when there is too little room."""
        plain = self.symbols == "ascii"
        marks = {
            "done": ("+" if plain else "✓", "good", LABEL),
            "now": (">" if plain else "›", "accent", "accent"),
            "failed": ("x" if plain else "✗", "bad", "bad"),
            "": ("." if plain else "·", LABEL, LABEL),
        }
        runs: list[Run] = []
        for name, mark in self.head.trail:
            symbol, symbol_key, key = marks[mark]
            runs += [("  " if runs else "", TEXT), (symbol, symbol_key), (f" {name}", key)]
        if self._width(runs) + LEAST_BAR + 2 > width:
            runs = [(text if text != "  " else " ", key) for text, key in runs]
        return runs

    @staticmethod
    def _width(runs: Sequence[Run]) -> int:
        return Line(tuple(runs)).width


class Banner(Lines):
    """A strip that tells how the run ended, what is wrong, and which key goes on. Takes no room when empty."""

    DEFAULT_CSS = """
    Banner { height: 0; display: none; padding: 0 1; margin: 0 0; background: $surface; }
    Banner.-shown { display: block; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.text: tuple[Line, ...] = ()

    def show(self, lines: Sequence[Line]) -> None:
        """Show these lines; none hides the strip."""
        if tuple(lines) == self.text:
            return
        grown = len(lines) != len(self.text)
        self.text = tuple(lines)
        if grown:
            self.styles.height = len(lines)
            self.set_class(bool(lines), "-shown")
        self.update_lines()

    def build(self, width: int, height: int) -> list[Line]:
        """The lines, cut to the width."""
        return [Line.of(*clip(line.runs, width)) for line in self.text[:height]]


class HostFacts(Lines):
    """What is known of the one host that all panels show."""

    DEFAULT_CSS = """
    HostFacts { height: 2; display: none; padding: 0 1; }
    HostFacts.-shown { display: block; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.host = ""
        self.facts: tuple[tuple[str, str], ...] = ()
        self.said: Run = ("", LABEL)
        self.more: tuple[Line, ...] = ()

    def show(self, host: str, facts: Sequence[tuple[str, str]], said: Run, more: Sequence[Line] = ()) -> None:
        """Show a host's facts, what there is to say of it, and `more` lines; an empty name hides them all."""
        self.host, self.facts, self.said, self.more = host, tuple(facts), said, tuple(more)
        self.set_class(bool(host), "-shown")
        if self.styles.height is None or self.styles.height.value != self.wanted:
            self.styles.height = self.wanted
        self.update_lines()

    @property
    def wanted(self) -> int:
        """The lines that it takes."""
        return 2 + len(self.more) if self.host else 0

    def build(self, width: int, height: int) -> list[Line]:  # noqa: ARG002
        """Name and state, then the facts that fit."""
        keys: list[Run] = [("i", "accent"), (" all of it  ", LABEL), ("Esc", "accent"), (" all hosts", LABEL)]
        first = spread([(self.host, "title"), ("  ", TEXT), self.said], keys, width)
        second: list[Run] = []
        for name, value in self.facts:
            fact: list[Run] = [("   " if second else "", TEXT), (f"{name} ", LABEL), (value, TEXT)]
            if width_of_runs([*second, *fact]) <= width:
                second += fact
        return [Line.of(*first), Line.of(*second), *self.more]


def ending(title: str, key: str, reason: str, hint: str, problems: Sequence[str], width: int) -> list[Line]:
    """Return the lines of a banner: what happened, the key that goes on, then a line a problem."""
    first = spread([(title, key), (f"  {reason}" if reason else "", TEXT)], [(hint, "accent")], width)
    return [Line.of(*first), *(Line.of((" ", TEXT), (fit(text, width - 1).rstrip(), TEXT)) for text in problems)]

"""What tools complain of, in plain words: each tool has a table of rules, and one explainer goes by it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from tui.model.event import Severity
from tui.workloads.reading import LogLine

MOST_KINDS = 500  # different lines that are told apart; the raw output keeps all
MOST_PARTS = 3  # texts of one cause that are joined
REPEAT_AT = frozenset({10, 100, 1_000, 10_000, 100_000})
_VARYING = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Rule:
    """A message that is understood; `code` names its cause in verdicts.

    `text` has the pattern's named groups and `line` in braces, or is made of the match; empty: not worth telling.
    """

    pattern: re.Pattern[str]
    severity: Severity
    text: str | Callable[[re.Match[str]], str]
    code: str | None = None

    def words(self, match: re.Match[str]) -> str:
        """Return the text for a line that matched."""
        if isinstance(self.text, str):
            return self.text.format(line=match.string.strip(), **match.groupdict())
        return self.text(match)


def rule(pattern: str, severity: Severity, text: str | Callable[[re.Match[str]], str], code: str | None = None) -> Rule:
    """Return a rule of a table."""
    return Rule(re.compile(pattern), severity, text, code)


def silent(*patterns: str) -> Rule:
    """Return the rule for lines that are not worth telling."""
    return rule("|".join(patterns), "info", "")


class Explainer:
    """Explains lines by the first rule that fits, and tells each only once: again when it was seen 10, 100, ... times.

    Lines that differ only in numbers (process ids, offsets) are the same. `codes` are the causes so far with their
    first text, those of `in_parts` with the first few; `counts` how often each was seen; `errors` the texts of
    severity error. `unknown` is what to tell of a line that no rule fits.
    """

    def __init__(
        self, rules: Sequence[Rule], unknown: Callable[[str], LogLine], in_parts: Collection[str] = ()
    ) -> None:
        self.codes: dict[str, str] = {}
        self.counts: Counter[str] = Counter()
        self.errors: list[str] = []
        self._rules, self._unknown, self._in_parts = rules, unknown, in_parts
        self._seen: Counter[str] = Counter()
        self._known: dict[str, tuple[Severity, str, str | None]] = {}

    def explain(self, line: str) -> LogLine | None:
        """Return what to tell of a line; None when it says nothing, or nothing new."""
        severity, text, code = self._remembered(line)
        if not text:
            return None
        if code:
            self.counts[code] += 1
            self._keep(code, text)
        times = self._times(line)
        if times == 1:
            self.errors += [text] if severity == "error" else []
            return severity, text
        return (severity, f"{text} (seen {times} times)") if times in REPEAT_AT else None

    def explain_all(self, lines: Sequence[str]) -> list[LogLine]:
        """Return what to tell of several lines."""
        return [told for line in lines if (told := self.explain(line)) is not None]

    def _remembered(self, line: str) -> tuple[Severity, str, str | None]:
        """Return what a line means; what floods repeats itself, and rules take their time."""
        if (known := self._known.get(line)) is None:
            known = self._explained(line)
            if len(self._known) < MOST_KINDS:
                self._known[line] = known
        return known

    def _explained(self, line: str) -> tuple[Severity, str, str | None]:
        for each in self._rules:
            if match := each.pattern.search(line):
                return each.severity, each.words(match), each.code
        return (*self._unknown(line), None)

    def _keep(self, code: str, text: str) -> None:
        kept = self.codes.setdefault(code, text)
        if code in self._in_parts and text not in kept and kept.count("; ") < MOST_PARTS - 1:
            self.codes[code] = f"{kept}; {text}"

    def _times(self, line: str) -> int:
        """Return how often a line was seen; 0 when there were too many kinds before it."""
        key = _VARYING.sub("0", line)
        if key not in self._seen and len(self._seen) >= MOST_KINDS:
            return 0
        self._seen[key] += 1
        return self._seen[key]

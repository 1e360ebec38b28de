"""Phrases that are no English an engineer would write, and came back before: no text of the product,
no preset and no page has them.

``python -m tests.wording`` lists them with their places; `make lint` runs it."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PHRASES = {
    r"nobody (can|knows|looks|tells?)": "name the actor, or say: unknown, inconclusive",
    r"nothing is known": "say what is missing: no samples, no start time",
    r"\bgoes on\b": "is still running; continues",
    r"\bis told\b": "gets; sees",
    r"\blacks no\b": "nothing to ...",
    r"(is|was) there already": "exists",
    r"told apart": "within noise",
    r"held against": "compared with",
    r"(stands|stood) (at|beside|behind)\b": "is at; is next to",
    r"\bruns? of ours\b": "earlier runs; runs of benchtui",
    r"more would give more": "raise the queue depth",
    r"as far as .{1,30} can tell": "state what was checked",
    r"all but stood": "stalled",
    r"checks? made|made again": "ran; repetition",
    r"\bin the mean\b": "on average",
    r"it tells nothing|tell nothing": "cannot be used; inconclusive",
    r"is no (date|tag|run record|manifest|run|criterion|limit|unit|number|size|multiple|method)\b": (
        "is not a ..."
    ),
    r"\b(stands?|is there|is named) twice\b": "duplicate; given twice",
    r"\bno (file|command|partition|directory) is named\b": "no file given",
    r"\bbehind (a|the) (colon|host|name)\b": "after",
    r"\b(one|a row|an object|a line) a (host|second|step|point|line|file|direction)\b": "one per host",
    r"\b(keeps?|kept) (the|all|a) limits?\b": "meets the limits",
    r"\bhow surely\b": "with what confidence interval",
    r"\bone and the same|none is theirs": "the same; they have none",
    r"hold each other up": "contend for locks",
    r"\bin vain\b": "without effect",
    r"as much as it can": "full load",
    r"null: likewise": "null: unknown",
    r"what (became|came) of": "outcome; result",
    r"\btakes? away\b": "removes; disables",
    r"\b(somebody|whoever)\b": "name the actor",
    r"is (not )?what was sealed": "changed since it was sealed",
    r"may hold (it|them) back": "may limit the load",
    r"too little to stand for": "too short to represent",
    r"(numbers?|seconds|allowed:.{0,6}) from [01]\b(?! to)": "of 1 or more; 0 or more",
    r"\b(repeats?|chooses?|ends?|finish(es|ed)?|retries|stops?)\b.{0,15} by itself": "automatically",
    r"\bfrom that (at|on) ": "differs from the one on; was replaced after",
    r"\bper (second and (thread|direction|host)|host and second|rank and phase)\b": (
        "per second per thread"
    ),
    r"\bmust (not )?be there\b|\bw(as|ere) there( before|[,;.])": "must exist; existed",
    r"\bready-made\b": "preset",
    r"\bwritten whole\b": "written completely",
    r"\bfor the time of\b": "during; for the duration of",
    r"\bthe root of\b": "square root",
    r"\bbefore its time\b": "early",
    r"\bon (their|its) way\b": "in flight",
    r"\bother \w+s than\b": "Xs other than",
    r"\bis not said\b|\bby the words of\b": "the source does not say; according to",
}
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/**/*.md", "profiles/**/*.yaml")


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the string literals of a module with their lines, docstrings aside."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.lineno, node.value


def found_in(path: Path) -> Iterator[str]:
    """Yield ``FILE:LINE: 'phrase': advice`` of each phrase in a module's texts."""
    for line, text in texts(path):
        for pattern, advice in PHRASES.items():
            if match := re.search(pattern, text):
                yield f"{path.relative_to(ROOT)}:{line}: {match[0]!r}: {advice}"


def found_on(path: Path) -> Iterator[str]:
    """Yield the same of a page or a preset, where a phrase may span two lines."""
    text = path.read_text(encoding="utf-8")
    for pattern, advice in PHRASES.items():
        for match in re.finditer(pattern.replace(" ", r"\s+"), text):
            line = text.count("\n", 0, match.start()) + 1
            yield f"{path.relative_to(ROOT)}:{line}: {match[0]!r}: {advice}"


def main() -> int:
    """Print what is found; 1 when there is any."""
    found = [each for path in sorted((ROOT / "tui").rglob("*.py")) for each in found_in(path)]
    found += [each for glob in PAGES for path in sorted(ROOT.glob(glob)) for each in found_on(path)]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

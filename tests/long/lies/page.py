"""Tables between the marks of docs/truth.md, from docs/truth.json."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tests.long.bench.kept import ROOT, table

PAGE, DATA = ROOT / "docs" / "truth.md", ROOT / "docs" / "truth.json"
MARK = re.compile(r"(<!-- truth: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
Sections = Mapping[str, Sequence[dict[str, Any]]]


def text_of(made: Sections) -> str:
    """Return all tables as text."""
    return "\n\n".join(f"{name}\n{table(list(rows))}" for name, rows in made.items() if rows)


def filled(text: str, made: Sections) -> str:
    """Return a page with its tables."""

    def between(match: re.Match[str]) -> str:
        mark, name, end = match.groups()
        rows = list(made.get(name, ()))
        return f"{mark}{table(rows) if rows else 'None.'}\n{end}"

    return MARK.sub(between, text)


def write(made: Sections) -> None:
    """Keep tables, and write them into the page; those of other names stay as they are."""
    kept: dict[str, Any] = json.loads(DATA.read_text()) if DATA.exists() else {}
    kept |= made
    DATA.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), kept), encoding="utf-8")

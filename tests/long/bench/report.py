"""`python -m tests.long.bench figures` measures what docs/performance.md shows, `report` writes it
there from the JSON.

Each bench can be measured by its name before; figures of several days are all marked with their
own. What they come to (`judged.WORDS`) is written between marks as well, also in the README.
"""

from __future__ import annotations

import json
import re
from typing import Any

from tests.long.bench.judged import WORDS
from tests.long.bench.kept import FOLDER, ROOT, table

PAGES = (ROOT / "docs" / "performance.md", ROOT / "README.md")
DATA = ROOT / "docs" / "performance.json"
BENCHES = (
    "engine_scale", "app_scale", "fan_out", "cold_start", "start_skew", "frozen_host", "observer",
    "true_percentiles",
    "capacity_search",
)  # fmt: skip
MARK = re.compile(r"(<!-- (bench|words): (\w+) -->)(\n?).*?(<!-- end -->)", re.DOTALL)


def kept() -> dict[str, dict[str, Any]]:
    """Return what was kept of every bench, this machine's figures over those in the repository."""
    found: dict[str, dict[str, Any]] = json.loads(DATA.read_text()) if DATA.exists() else {}
    found |= {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))}
    return {name: found[name] for name in BENCHES if name in found}


def section(name: str, found: dict[str, dict[str, Any]]) -> str:
    """Return the figures of one bench as Markdown."""
    if name not in found:
        return f"Not measured yet: `python -m tests.long.bench {name}`.\n"
    each = found[name]
    where = f"{each['utc']}, {each['machine']}; load before: {each['load_before']:.1f}."
    return f"{table(each['rows'])}\n\n{each['note']} `python -m tests.long.bench {name}`, {where}\n"


def written(text: str, found: dict[str, dict[str, Any]]) -> str:
    """Return a page with figures and words between its marks.

    A mark within a line stays within it.
    """

    def between(match: re.Match[str]) -> str:
        mark, kind, name, own_lines, end = match.groups()
        said = section(name, found) if kind == "bench" else f"{WORDS[name](found)}{own_lines}"
        return f"{mark}{own_lines}{said}{end}"

    return MARK.sub(between, text)


def main() -> int:
    """Write pages and data."""
    found = kept()
    for page in PAGES:
        page.write_text(written(page.read_text(), found))
    DATA.write_text(json.dumps(found, indent=1) + "\n")
    named = ", ".join(str(path.relative_to(ROOT)) for path in (*PAGES, DATA))
    print(f"{len(found)} of {len(BENCHES)} benches in {named}")
    return 0

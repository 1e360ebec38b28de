"""`python -m tests.bench figures` measures what docs/performance.md shows, `report` writes it there from the JSON.

Each bench can be measured by its name before; figures of several days are all marked with their own.
"""

from __future__ import annotations

import json
import re
from typing import Any

from tests.bench.kept import FOLDER, ROOT, table

PAGE, DATA = ROOT / "docs" / "performance.md", ROOT / "docs" / "performance.json"
BENCHES = ("engine_scale", "app_scale", "fan_out", "cold_start", "start_skew", "observer", "true_percentiles")
MARK = re.compile(r"(<!-- bench: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def kept() -> dict[str, dict[str, Any]]:
    """Return what was kept of every bench, this machine's figures over those in the repository."""
    found: dict[str, dict[str, Any]] = json.loads(DATA.read_text()) if DATA.exists() else {}
    found |= {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))}
    return {name: found[name] for name in BENCHES if name in found}


def section(name: str, found: dict[str, dict[str, Any]]) -> str:
    """Return the figures of one bench as Markdown."""
    if name not in found:
        return f"Not measured yet: `python -m tests.bench {name}`.\n"
    each = found[name]
    where = f"{each['utc']}, {each['machine']}; load before: {each['load_before']:.1f}."
    return f"{table(each['rows'])}\n\n{each['note']} `python -m tests.bench {name}`, {where}\n"


def written(text: str, found: dict[str, dict[str, Any]]) -> str:
    """Return the page with the figures between its marks."""
    return MARK.sub(lambda match: f"{match[1]}{section(match[2], found)}{match[3]}", text)


def main() -> int:
    """Write page and data."""
    found = kept()
    PAGE.write_text(written(PAGE.read_text(), found))
    DATA.write_text(json.dumps(found, indent=1) + "\n")
    print(f"{len(found)} of {len(BENCHES)} benches in {PAGE.relative_to(ROOT)} and {DATA.relative_to(ROOT)}")
    return 0

"""What journals say, as texts."""

from __future__ import annotations

import json
from pathlib import Path

from tui.text.run_texts import run_text


def told_in(run_dir: Path, host: str = "") -> list[str]:
    """Return the texts of messages and problems in a run's journal; `host`: of this host alone."""
    lines = (run_dir / "journal.jsonl").read_text(encoding="utf-8").splitlines()
    events = [json.loads(line) for line in lines]
    return [
        run_text(event.get("message") or event["text"])
        for event in events
        if event["type"] in ("message", "host_problem") and host in ("", event.get("host"))
    ]

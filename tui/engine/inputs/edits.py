"""Whether a profile was edited after a run of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tui.engine.inputs.profile_texts import Shelf
from tui.model.load_keys import edited_names
from tui.workloads.terms import JOB_LINE


def edited_since(then: Mapping[str, str], user_dir: Path) -> list[str]:
    """Return the parameters and options of profiles that differ from a run's.

    `then`: the run's texts by tag: its profile, the extended profiles, and members of a suite.
    Profiles that no longer exist, and jobs without a profile, are left out.
    """
    shelf, found = Shelf(user_dir), set[str]()
    for tag, text in then.items():
        file = shelf.find(tag) if text and not text.startswith(JOB_LINE) else None
        if file is not None and file.text is not None and file.text != text:
            found.update(edited_names(text, file.text))
    return sorted(found)

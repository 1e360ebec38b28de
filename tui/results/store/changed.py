"""What a run changed of its profile's parameters, read from its plan without the steps."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct, field

from tui.model.bounded import read_file
from tui.model.no_json import NO_JSON
from tui.model.plain_data import PlainDecoder
from tui.model.rundir import PLAN_FILE


class _Profile(Struct):
    changed: dict[str, str] = field(default_factory=dict)


class _Head(Struct):
    profile: _Profile = field(default_factory=_Profile)
    axes: list[str] = field(default_factory=list)


_decoder = PlainDecoder(_Head)


def changed_of(run_dir: Path) -> dict[str, str]:
    """Return the changed parameters by name, those that are swept as ``swept``; empty without a plan to read."""
    try:
        head = _decoder.decode(read_file(run_dir / PLAN_FILE))
    except (OSError, *NO_JSON):
        return {}
    return {**head.profile.changed, **dict.fromkeys(head.axes, "swept")}

"""Parts of a run's plan that lists need: changed parameters, and the profile as it was."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct, field

from tui.model.bounded import NO_JSON, read_file
from tui.model.plain_data import MultiLine, PlainDecoder
from tui.model.rundir import PLAN_FILE


class PlannedTexts(Struct):
    """A profile as it was when its run began: changed parameters, and its texts."""

    tag: str = ""
    text: MultiLine = ""
    changed: dict[str, str] = field(default_factory=dict)
    extends: list[str] = field(default_factory=list)
    bases: list[MultiLine] = field(default_factory=list)

    @property
    def texts(self) -> dict[str, str]:
        """The YAML of the profile and of the profiles it extends, by tag."""
        return dict(zip([self.tag, *self.extends], [self.text, *self.bases], strict=False))


class PlanHead(Struct):
    """Parts of a plan that lists need."""

    profile: PlannedTexts = field(default_factory=PlannedTexts)
    members: list[PlannedTexts] = field(default_factory=list)
    axes: list[str] = field(default_factory=list)

    @property
    def changed(self) -> dict[str, str]:
        """The changed parameters by name, with ``swept`` for swept ones."""
        return {**self.profile.changed, **dict.fromkeys(self.axes, "swept")}

    @property
    def texts(self) -> dict[str, str]:
        """The YAML of all profiles of the plan, by tag."""
        found: dict[str, str] = {}
        for each in (*self.members, self.profile):
            found |= each.texts
        return found


_decoder = PlainDecoder(PlanHead)


def plan_head(run_dir: Path) -> PlanHead:
    """Return the parts of a run's plan; empty without a readable plan."""
    try:
        return _decoder.decode(read_file(run_dir / PLAN_FILE))
    except (OSError, *NO_JSON):
        return PlanHead()

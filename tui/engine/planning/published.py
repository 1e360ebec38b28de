"""The plan of a published measurement: what its profile would run with the parameters that the source names. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui.engine.planning.plan import Choices, build_plan
from tui.model.address import HostAddress
from tui.model.baseline import Baseline
from tui.model.plan import Plan, ProfileRef
from tui.model.problem import UsageError

if TYPE_CHECKING:
    from tui.engine.profiles.catalogue import Catalogue


def published_plan(baseline: Baseline, hosts: Sequence[str], catalogue: Catalogue) -> Plan:
    """Return the plan of a baseline's profile at its point; one without steps where there is no such profile."""
    addresses = [HostAddress(name) for name in hosts]
    try:
        loaded = catalogue.load(baseline.profile)
        given = {**baseline.params, **baseline.at}
        overrides = {name: str(value) for name, value in given.items() if name in loaded.profile.params}
        return build_plan(loaded, Choices(hosts=addresses, overrides=overrides))
    except UsageError:
        return Plan(ProfileRef(baseline.profile, 1, "", "", ""), dict(baseline.params), addresses, [])

"""Host facts compared across hosts, written to and read from the record."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tui.metrics.facts import FactDifference, FactGroup, FactsTogether, compare
from tui.model.host_record import FactDifferenceRecord, FactsRecord
from tui.model.hostfacts import Fact
from tui.model.record import RunRecord


def facts_record(hosts: Mapping[str, Mapping[str, Fact]]) -> FactsRecord:
    """Return common and differing host facts for the record."""
    return FactsRecord(**msgspec.to_builtins(compare(hosts)))


def facts_together(record: RunRecord) -> FactsTogether:
    """Return the common and differing facts of a run's hosts.

    For older records, computed from the facts of each host.
    """
    facts = record.facts
    if facts is None:
        return compare({host.name: host.facts for host in record.hosts})
    found = (_found(each) for each in facts.differing)
    return FactsTogether(
        tuple(facts.hosts),
        dict(facts.common),
        tuple(each for each in found if len(each.groups) > 1),
    )


def _found(each: FactDifferenceRecord) -> FactDifference:
    """Return a difference with its non-empty groups only; with fewer than two groups it is not a
    difference.
    """
    groups = tuple(
        FactGroup(group.value, tuple(group.hosts)) for group in each.groups if group.hosts
    )
    return FactDifference(each.name, each.title, each.matters, groups)

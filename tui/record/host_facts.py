"""The facts of hosts side by side: into the record, and out of it."""

from __future__ import annotations

from collections.abc import Mapping

from tui.metrics.facts import FactDifference, FactGroup, FactsTogether, compare
from tui.model.host_record import FactDifferenceRecord, FactGroupRecord, FactsRecord
from tui.model.hostfacts import Fact
from tui.model.record import RunRecord


def facts_record(hosts: Mapping[str, Mapping[str, Fact]]) -> FactsRecord:
    """Return what hosts have in common and differ in, for the record."""
    found = compare(hosts)
    return FactsRecord(
        hosts=list(found.hosts),
        common=found.common,
        differing=[_difference(each) for each in found.differing],
    )


def _difference(found: FactDifference) -> FactDifferenceRecord:
    groups = [FactGroupRecord(value=group.value, hosts=list(group.hosts)) for group in found.groups]
    return FactDifferenceRecord(
        name=found.name, title=found.title, matters=found.matters, groups=groups
    )


def facts_together(record: RunRecord) -> FactsTogether:
    """Return what the hosts of a run have in common and differ in.

    Of older records, made from the hosts' facts.
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
    """Return a difference by its groups that have hosts: of fewer than two, nothing differs."""
    groups = tuple(
        FactGroup(group.value, tuple(group.hosts)) for group in each.groups if group.hosts
    )
    return FactDifference(each.name, each.title, each.matters, groups)

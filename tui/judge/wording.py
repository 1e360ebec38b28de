"""Word findings, bottlenecks and reasons of checks without data, from codes and operands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tui.judge.severity import MOOT
from tui.judge.texts import (
    data,
    figures,
    hosts,
    load,
    observed,
    steadiness,
)
from tui.judge.texts.bottleneck import BOTTLENECK, CAVEATS, IN_FLIGHT, MORE_IN_FLIGHT, PROOF, result
from tui.judge.texts.reasons import REASONS
from tui.metrics.units import plural
from tui.model.operands import Clause, is_clause
from tui.text.form import Text, formed, text_by_code, worded_from
from tui.text.names import names_of
from tui.text.run_texts import RUN
from tui.text.search_texts import SEARCH

if TYPE_CHECKING:
    from typing import Protocol

    from tui.model.figure_record import CodedText
    from tui.model.record import Finding, HostsNotChecked, RunRecord
    from tui.model.step_record import BottleneckRecord, ProofRecord

    class Found(Protocol):
        """A finding of a record, or its summary."""

        @property
        def id(self) -> str:
            """Name of the check."""

        @property
        def code(self) -> str | None:
            """Code of one of the check's texts; None in records of older versions."""

        @property
        def operands(self) -> Mapping[str, Any]:
            """Operands of the text."""

        @property
        def message(self) -> str | None:
            """The text, in records of older versions."""


CHECKS: Mapping[str, Mapping[str, Text]] = {
    check: texts
    for each in (
        figures.OWN_FIGURES,
        load.LOAD,
        hosts.HOSTS,
        load.TIMES,
        data.DATA,
        hosts.MACHINES,
        observed.OBSERVED,
        steadiness.STEADINESS,
        figures.FIGURES,
    )
    for check, texts in each.items()
}


# what a finding says in a word or two, where its id does not
NAMES: Mapping[str, str] = {
    "above-depth": "above queue depth",
    "client-cpu": "client CPU",
    "cpu-frequency": "CPU frequency",
    "direct-io": "direct I/O",
    "few-samples": "few samples",
    "flush-no-op": "flush without effect",
    "host-differences": "hosts differ",
    "host-loss": "host lost",
    "io-limit": "I/O limit",
    "missing-samples": "samples missing",
    "never-together": "no common window",
    "no-storage": "no I/O to storage",
    "no-flush": "not flushed",
    "precondition": "not preconditioned",
    "random-share": "not fully random",
    "root-target": "on the root file system",
    "runtime": "short runtime",
    "short": "ended early",
    "slat": "submission wait",
    "steady-state": "not steady",
    "warm-up": "includes warm-up",
}


TABLES = (
    observed.OBSERVED["client-cpu"],
    observed.OBSERVED["network"],
    BOTTLENECK,
    PROOF,
    REASONS,
    SEARCH,
    RUN,
)
TEXTS: Mapping[str, Text] = {code: text for table in TABLES for code, text in table.items()}


def message_of(found: Found) -> str:
    """Return the text of a finding. Older records store the text itself; return it unchanged."""
    if not found.code:
        return found.message or ""
    return text_of(found.id, found.code, found.operands)


def name_of(check: str) -> str:
    """Return what a finding of a check says, in a word or two: ``not steady``, ``straggler``."""
    return NAMES.get(check, check.replace("-", " "))


def worded(told: CodedText | Clause | str) -> str:
    """Return the text for a code in a record. Older records store the text itself; return it
    unchanged.
    """
    return worded_from(TEXTS, told)


def bottleneck_text(bottleneck: BottleneckRecord, hosts: int = 0) -> str:
    """Return the text of a bottleneck, revised by its counter-experiment if there is one.

    ``on all 6 hosts`` replaces the names of all `hosts` of a run if some would be left out.
    """
    text = _after_proof(bottleneck, worded(bottleneck.text))
    operands = {} if isinstance(bottleneck.text, str) else bottleneck.text.operands
    names = [each[0] for each in operands.get("hosts", ()) if isinstance(each, list | tuple)]
    named = names_of(names) if len(names) == hosts else ""
    if named in ("", ", ".join(names)):
        return text
    return text.replace(f": {named}", f" on all {hosts} hosts", 1)


def _after_proof(bottleneck: BottleneckRecord, text: str) -> str:
    proof = bottleneck.proof
    if proof is None or proof.outcome == "could-not-tell":
        return text
    if bottleneck.kind == "storage" and proof.change in MORE_IN_FLIGHT:
        caveat = _caveat(bottleneck) if proof.outcome == "agreed" else ""
        return IN_FLIGHT[proof.outcome] + caveat
    return text if proof.outcome == "agreed" else f"{text}: refuted by the counter-experiment"


def _caveat(bottleneck: BottleneckRecord) -> str:
    """Return what else may limit a load that more I/Os in flight do not speed up; empty if nothing
    is known.
    """
    if isinstance(bottleneck.text, str) or bottleneck.text.code not in CAVEATS:
        return ""
    return f"; {formed(CAVEATS[bottleneck.text.code], bottleneck.text.operands)}"


def proof_text(proof: ProofRecord) -> str:
    """Return the text of a counter-experiment's result. Older records store the text itself; return
    it unchanged.
    """
    return proof.text or result(proof, worded(proof.predicted), worded(proof.why or ""))


def reasons_of(not_made: Mapping[str, CodedText | str] | None) -> dict[str, str]:
    """Return why checks could not run, as texts by check."""
    return {name: worded(why) for name, why in (not_made or {}).items()}


def gap_reasons_of(record: RunRecord) -> dict[str, str]:
    """Return why checks that ran had no data for some steps or hosts, as texts by check: ``3 of 12
    steps: no telemetry``, ``h3: no telemetry``. Those to which a check does not apply are left out.
    """
    of = plural(len(record.steps), "step")
    found: dict[str, str] = {}
    for name, missed in (record.steps_not_checked or {}).items():
        told = [
            f"{len(each.steps)} of {of}: {worded(each.why)}"
            for each in missed
            if isinstance(each.why, str) or each.why.code not in MOOT
        ]
        if told:
            found[name] = "; ".join(told)
    for name, gaps in (record.hosts_not_checked or {}).items():
        told = [
            f"{names_of(each.hosts)}{_in_steps(each, record)}: {worded(each.why)}"
            for each in gaps
            if isinstance(each.why, str) or each.why.code not in MOOT
        ]
        if told:
            found[name] = "; ".join([*([found[name]] if name in found else []), *told])
    return found


def _in_steps(gap: HostsNotChecked, record: RunRecord) -> str:
    """Return in how many steps hosts were not checked; empty if in all."""
    if not gap.steps or len(gap.steps) >= len(record.steps):
        return ""
    return f" ({len(gap.steps)} of {plural(len(record.steps), 'step')})"


def with_words(document: Any) -> Any:
    """Return plain data of a record with texts for codes, except in findings."""
    if is_clause(document):
        return worded(document)
    if isinstance(document, dict):
        return {
            name: each if name == "findings" else with_words(each)
            for name, each in document.items()
        }
    nested = isinstance(document, list) and isinstance(next(iter(document), None), dict | list)
    return [with_words(each) for each in document] if nested else document


def text_of(check: str, code: str, operands: Mapping[str, Any]) -> str:
    """Return a text of a check; for a code unknown to this version, code and operands."""
    texts = {**RUN, **CHECKS.get(check, {})}  # findings quote problems of hosts
    points = operands.get("points_merged")
    told = text_by_code(texts, code, {k: v for k, v in operands.items() if k != "points_merged"})
    return f"{told}; the worst of {points} points" if points else told


def with_message(finding: Finding) -> dict[str, Any]:
    """Return a finding as plain data, with its text, for readers outside of benchtui."""
    return {**finding.model_dump(mode="json"), "message": message_of(finding)}

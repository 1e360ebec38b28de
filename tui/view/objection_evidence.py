"""The evidence in a record about each objection, and why an objection does not apply."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean
from typing import TYPE_CHECKING

from tui.judge.severity import AT_CLIENT, Moot
from tui.judge.wording import bottleneck_text, proof_text
from tui.metrics import units
from tui.metrics.figures import (
    kind_of,
    latency_of,
    percentile_of,
    share_text,
    shown_percentile,
    spread_of,
    within_text,
)
from tui.metrics.histogram import Histogram
from tui.metrics.registry import MIXED, each_io_once
from tui.model.criteria import DURABLE
from tui.model.host_tables import Content, rows
from tui.record.headline import coverage_text, is_short
from tui.text.run_texts import run_text
from tui.view.host_links import speeds_of
from tui.view.host_load import busiest_clients, fullest_texts
from tui.view.objections import ObjectionEvidence, reason_code
from tui.view.step_notes import (
    attest_texts,
    length_text,
    precondition_texts,
    submission_text,
    timing_texts,
)

if TYPE_CHECKING:
    from tui.model.record import RunRecord
    from tui.model.step_record import StepRecord

SHOWN = 99.0  # the percentile recomputed from the hosts


# -- why an objection does not apply


def one_host(record: RunRecord) -> str:
    """Return "only one host" if hosts cannot differ, otherwise an empty text."""
    return "" if len(record.hosts) > 1 else "only one host"


def no_reads(record: RunRecord) -> str:
    """Return "nothing was read" if so, otherwise an empty text."""
    return "" if "read" in directions(record) or not directions(record) else "nothing was read"


def no_writes(record: RunRecord) -> str:
    """Return "nothing was written" if so, otherwise an empty text."""
    return "" if "write" in directions(record) or not directions(record) else "nothing was written"


def no_latencies(record: RunRecord) -> str:
    """Return a text if no latencies were measured, otherwise an empty one."""
    return "" if directions(record) else "no latencies of individual I/Os"


def directions(record: RunRecord) -> set[str]:
    """Return every direction that was measured."""
    return {name for step in record.steps for name in step.results.aggregate}


# -- evidence


def prepared_by(record: RunRecord) -> Iterator[ObjectionEvidence]:
    """Yield how the storage was preconditioned."""
    for text in precondition_texts(record):
        yield ObjectionEvidence("fact", f"prepared: {text}")


def prepared(record: RunRecord, step: StepRecord | None) -> Iterator[ObjectionEvidence]:
    """Yield how the storage was prepared, and how page caches were dropped."""
    yield from prepared_by(record)
    dropped = [drop for drop in step.cache_drops if drop.ok] if step is not None else []
    if dropped:
        how = ", ".join(dict.fromkeys(drop.method for drop in dropped))
        count = units.plural(len(dropped), "host")
        yield ObjectionEvidence("fact", f"page cache dropped before the step on {count} ({how})")


def behind_clients(_: RunRecord, __: StepRecord | None) -> Iterator[ObjectionEvidence]:
    """Yield the note that caches behind the clients are not visible."""
    yield ObjectionEvidence(
        "unknown",
        "no counter of the clients shows whether the storage answered from a cache",
        brief="not visible to the clients",
    )


def lasting(record: RunRecord, _: StepRecord | None) -> Iterator[ObjectionEvidence]:
    """Yield how the storage was preconditioned, or that its state is unknown."""
    texts = [*prepared_by(record)]
    yield from texts
    if not texts:
        yield ObjectionEvidence(
            "unknown",
            "not preconditioned; the state of the storage (fresh or worn) is unknown",
            brief="not preconditioned",
        )


def layout(record: RunRecord, step: StepRecord | None) -> Iterator[ObjectionEvidence]:
    """Yield the layout of the files by benchtui, with its duration; nothing without one."""
    phases = [
        phase for phase in (step.phases if step is not None else []) if phase.name == "layout"
    ]
    phases += [phase for phase in record.phases if phase.name == "layout"]
    for phase in phases[:1]:
        took = (phase.end_s or 0.0) - (phase.start_s or 0.0)
        yield ObjectionEvidence(
            "fact",
            f"benchtui laid out the files in {units.duration(took)}"
            if phase.ok
            else "benchtui's layout of the files is incomplete",
        )


def attested(record: RunRecord, _: StepRecord | None) -> Iterator[ObjectionEvidence]:
    """Yield the attested conditions under which writes survive a power cut.

    One answered with yes is enough, as for the check; the others are then only facts.
    """
    weights = {"yes": "refutes", "no": "partly", "unknown": "unknown"}
    known = [
        (each, text)
        for each, text in zip(
            sorted(record.attested, key=_by_answer), attest_texts(record), strict=True
        )
        if each.id in DURABLE
    ]
    enough = any(each.answer == "yes" for each, _ in known)
    for each, text in known:
        weight = "fact" if enough and each.answer != "yes" else weights[each.answer]
        yield ObjectionEvidence(weight, f"attested {text}", "attest")  # type: ignore[arg-type]


def _by_answer(each: object) -> int:
    return ("no", "unknown", "yes").index(getattr(each, "answer", "yes"))


def how_long(record: RunRecord, step: StepRecord | None) -> Iterator[ObjectionEvidence]:
    """Yield the measured time, and the number of I/Os behind the percentiles."""
    if step is None:
        return
    text = length_text(step.measured_s, step.runtime_s)
    if text:
        told = step.runtime_s and "of" not in text and record.state != "running"
        asked = f" of {units.seconds(step.runtime_s)} requested" if told else ""
        whole = text if is_short(step) else f"{text}{asked}"
        yield ObjectionEvidence("fact", whole, brief=whole.removesuffix(" requested"))
    kind = record.latency_kind_of(step)
    for name, result in step.results.aggregate.items():
        latency = latency_of(result, name, kind)
        # without those that failed: they have no latency
        if name != MIXED and latency is not None and latency.n:
            yield ObjectionEvidence("fact", f"{name}: {latency.n:,} I/Os counted")


def sampled(record: RunRecord, step: StepRecord | None) -> Iterator[ObjectionEvidence]:
    """Yield how much of the sampled blocks, read and written, is distinct on the worst host."""
    known = [
        row
        for host in record.hosts
        for row in rows(host.facts, Content)
        if step is not None and row.step == step.index
    ]
    for kind in ("read", "written"):
        these = [row for row in known if row.kind == kind and row.blocks > row.zero]
        different = [
            min(row.row, row.apart)
            for row in these
            if row.row is not None and row.apart is not None
        ]
        if different:
            packed = [row.packed for row in these if row.packed is not None]
            alone = f"gzip leaves {units.percent(min(packed))} of a block, and " if packed else ""
            share = units.percent(min(different))
            text = f"{kind}: {alone}{share} of the 16-byte pieces are distinct"
            told = f"{share} of the pieces are distinct"
            yield ObjectionEvidence("fact", f"{text} (worst host)", brief=told)
        if len(different) < len(these):
            yield ObjectionEvidence(
                "unknown", f"{kind}: sampled blocks not compared with each other"
            )


def steadiness(record: RunRecord, step: StepRecord | None) -> Iterator[ObjectionEvidence]:
    """Yield by how much five equal windows of the load differ, and how storage was prepared."""
    from tui.judge.proof import cluster_rates
    from tui.judge.severity import UnknownError
    from tui.metrics.steady import window_across

    if step is not None:
        try:
            window = window_across(cluster_rates(step.series))
        except UnknownError:
            window = None
        if window is not None:
            apart, drift = units.share(window.range), units.share(window.slope)
            told = f"windows: range {apart}, drift {drift}"
            yield ObjectionEvidence("fact", f"five equal {told}", brief=told.partition(": ")[2])
    yield from prepared_by(record)


def repeated(record: RunRecord, _: StepRecord | None) -> Iterator[ObjectionEvidence]:
    """Yield how much the headline differs between repetitions, which share layout and minutes."""
    from tui.view.step_notes import repeated_text

    if text := repeated_text(record):
        yield ObjectionEvidence("fact", text)
        yield ObjectionEvidence("unknown", "noise between runs: repetitions are of one run")


def limited_by(record: RunRecord, step: StepRecord | None) -> Iterator[ObjectionEvidence]:
    """Yield the bottleneck, its counter-experiment, and the client load."""
    bottleneck = step.bottleneck if step is not None else None
    if step is None or bottleneck is None:
        yield ObjectionEvidence("unknown", "bottleneck unknown")
        return
    at_client = bottleneck.kind in AT_CLIENT
    yield ObjectionEvidence(
        "partly" if at_client else "fact", f"limited by {bottleneck_text(bottleneck)}"
    )
    if bottleneck.proof is not None:
        yield ObjectionEvidence("fact", f"counter-experiment {proof_text(bottleneck.proof)}")
    least = [f"{each.title} {each.mean:.0f} %" for each in busiest_clients(step)[:2]]
    for text in fullest_texts(step, speeds_of(record.hosts)):
        yield ObjectionEvidence("fact", text, brief=f"client {', '.join(least)}")


def together(_: RunRecord, step: StepRecord | None) -> Iterator[ObjectionEvidence]:
    """Yield start and end skew, and the rate in the time common to all hosts."""
    for text in timing_texts(step) if step is not None else ():
        yield ObjectionEvidence("fact", text, brief=text.partition(",")[0])
    for name, result in step.results.aggregate.items() if step is not None else ():
        if result.window_difference is not None and name != MIXED:
            rate = f"{units.iops(result.iops_window)} IOPS, {result.window_difference * 100:+.1f} %"
            yield ObjectionEvidence("fact", f"{name} in the common window: {rate}")


def stragglers(_: RunRecord, step: StepRecord | None) -> Iterator[ObjectionEvidence]:
    """Yield how far hosts are from the median host, and which hosts dropped out.

    For operations of an MPI program: the times of the slowest rank on the slowest and the fastest
    host.
    """
    if step is None:
        return
    for name in each_io_once(step.results.aggregate):
        rates = {
            host: dirs[name].iops for host, dirs in step.results.per_host.items() if name in dirs
        }
        spread = spread_of(rates)
        known = {host: share for host, share in spread.shares.items() if share is not None}
        if known:
            low, high = (
                min(known, key=lambda host: known[host]),
                max(known, key=lambda host: known[host]),
            )
            ends = f"{low} {share_text(known[low])} to {high} {share_text(known[high])}"
            text = f"{name} IOPS relative to the median host: {ends}"
            within = within_text(max(abs(known[low]), abs(known[high])))
            yield ObjectionEvidence("fact", text, brief=f"{within} of the median")
    for name, each in (step.metadata.operations if step.metadata else {}).items():
        if len(each.host_seconds) > 1:
            slow, fast = (
                pick(each.host_seconds, key=each.host_seconds.__getitem__) for pick in (max, min)
            )
            times = [units.latency(each.host_seconds[host] * 1e9) for host in (slow, fast)]
            ends = f"{slow} {times[0]}, {fast} {times[1]}"
            yield ObjectionEvidence("fact", f"{name}, time of the slowest rank: {ends}")
    if step.lost_hosts:
        yield ObjectionEvidence("partly", coverage_text(step.coverage), "host-loss")


def merged(record: RunRecord, step: StepRecord | None) -> Iterator[ObjectionEvidence]:
    """Yield whether merging the hosts' histograms reproduces the percentile.

    The evidence includes what averaging the hosts' percentiles would have given.
    """
    if step is None:
        return
    kind = record.latency_kind_of(step)
    for name, result in step.results.aggregate.items():
        if name != MIXED:
            yield from _recomputed(step, name, kind_of(name, kind), len(result.hosts))
    jobs = any(
        result.from_samples for dirs in step.results.per_host.values() for result in dirs.values()
    )
    if jobs:
        yield ObjectionEvidence(
            "partly",
            (
                "some hosts' figures are rebuilt from samples: percentiles are accurate to one"
                " bucket"
            ),
        )


def _recomputed(step: StepRecord, name: str, kind: str, hosts: int) -> Iterator[ObjectionEvidence]:
    whole = latency_of(step.results.aggregate[name], name, kind)
    found = [
        latency_of(dirs[name], name, kind)
        for dirs in step.results.per_host.values()
        if name in dirs
    ]
    parts = [part for part in found if part is not None]
    if whole is None or not whole.n:
        return
    shown = percentile_of(whole, SHOWN)
    if whole.buckets is None or not parts or any(part.buckets is None for part in parts):
        text = f"{name}: no histogram; p99 {units.latency(shown)} as printed by the load generator"
        yield (
            ObjectionEvidence("unknown", text)
            if hosts > 1 or whole.buckets is None
            else ObjectionEvidence("fact", text)
        )
        return
    again = Histogram()
    for part in parts:
        assert part.buckets is not None
        again.merge(Histogram.from_buckets(part.buckets))
    value = again.percentiles((SHOWN,), at_most=whole.max_ns).get("99")
    if value != shown or again.total != whole.n:
        text = (
            f"{name}: the hosts' histograms give p99 {units.latency(value)}, not"
            f" {units.latency(shown)}"
        )
        yield ObjectionEvidence("confirms", text)
        return
    tail = f"p99 {units.latency(shown_percentile(whole, SHOWN))}"
    said = f"{name} {tail} of {whole.n:,} individual I/Os"
    if len(parts) > 1:
        each = fmean(percentile_of(part, SHOWN) or 0 for part in parts)
        said += (
            f", recomputed from the histograms of {len(parts)} hosts (the mean of the"
            " hosts' p99 would be"
        )
        said += f" {units.latency(each)})"
    else:
        said += ", recomputed from the histogram"
    yield ObjectionEvidence("refutes", said, brief=f"p99 over all {whole.n:,} I/Os")


def waiting(record: RunRecord, step: StepRecord | None) -> Iterator[ObjectionEvidence]:
    """Yield which latency is shown, and which waiting time it excludes."""
    if step is None or not step.results.aggregate:
        return
    kind = record.latency_kind_of(step)
    no_queue = reason_code(record, "slat") == Moot.SUBMISSION
    closed = reason_code(record, "offered-rate") == Moot.RATE
    if kind == "lat" or no_queue:
        why = (
            "lat, from the submission of each I/O to its completion"
            if kind == "lat"
            else f"{kind}, and the engine has no submission latency"
        )
        yield ObjectionEvidence("fact", f"latency shown is {why}")
    else:
        text = f"latency shown is {kind}, submission to completion"
        yield ObjectionEvidence("fact", text, brief="submission wait is small")
        yield from (
            ObjectionEvidence("partly", text) for text in [submission_text(step, kind)] if text
        )
    if not closed:
        yield ObjectionEvidence(
            "unknown", "it excludes the time from an I/O's intended start to its submission"
        )
    else:
        yield ObjectionEvidence(
            "partly",
            (
                "closed loop: the load sends no requests while it waits, so a stall counts once"
                " per I/O in flight"
            ),
            brief="stalls are undercounted",
        )


def clock_offsets(record: RunRecord, _: StepRecord | None) -> Iterator[ObjectionEvidence]:
    """Yield the largest clock offset of a host. Times in the record are corrected for it."""
    known = ((host.name, host.clock) for host in record.hosts)
    clocks = {
        name: clock for name, clock in known if clock is not None and clock.method == "exchange"
    }
    offsets = {host: clock.offset_s for host, clock in clocks.items() if clock.offset_s is not None}
    if offsets:
        worst = max(offsets, key=lambda host: abs(offsets[host]))
        within = max(clock.uncertainty_s or 0.0 for clock in clocks.values())
        text = f"largest offset {offsets[worst] * 1e3:+.1f} ms ({worst}), ±{within * 1e3:.1f} ms"
        whole = f"{text}; times in the record are corrected"
        yield ObjectionEvidence("fact", whole, brief=text.partition(" (")[0])


def errors(record: RunRecord, _: StepRecord | None) -> Iterator[ObjectionEvidence]:
    """Yield how the run ended, and the first problems on hosts."""
    if record.state == "complete":
        text = "all hosts reported in every step, without errors"
        yield ObjectionEvidence("refutes", text, brief="no errors on any host")
    elif record.state not in ("imported", "baseline"):
        yield ObjectionEvidence("partly", run_text(record.reason) or f"the run is {record.state}")
    problems = [
        f"{host.name}: {run_text(problem.message)}"
        for host in record.hosts
        for problem in host.problems
    ]
    yield from (ObjectionEvidence("partly", text) for text in problems[:3])


def kept(record: RunRecord, _: StepRecord | None) -> Iterator[ObjectionEvidence]:
    """Yield whether there is raw output to recompute the figures from."""
    found = record.provenance
    if record.state == "baseline":
        yield ObjectionEvidence(
            "unknown", "published result: no raw output for recomputing the figures"
        )
        return
    if found.artefacts:
        size = units.size(sum(each.bytes for each in found.artefacts))
        again = f"benchtui runs verify {record.run_id}"
        files = f"{len(found.artefacts)} raw files ({size}) saved with SHA-256"
        yield ObjectionEvidence(
            "unknown", f"{files}, not compared here; to recompute the figures of the load: {again}"
        )
    else:
        yield ObjectionEvidence("unknown", "no tool output was saved")
    if found.journal is not None and found.journal.damaged_lines:
        damaged = units.plural(found.journal.damaged_lines, "damaged line")
        yield ObjectionEvidence("partly", f"the journal has {damaged}")


def differences(record: RunRecord, _: StepRecord | None) -> Iterator[ObjectionEvidence]:
    """Yield how the hosts' facts differ, or a note that no performance-relevant fact does."""
    from tui.record.host_facts import facts_together
    from tui.text.facts import differing_lines

    found = list(differing_lines(facts_together(record)))
    for label, runs in found:
        yield ObjectionEvidence("fact", f"{label}: {''.join(text for text, _ in runs)}")
    known = sum(bool(host.facts) for host in record.hosts)
    if not found and known > 1:
        text = f"no performance-relevant fact differs between {known} hosts"
        yield ObjectionEvidence("fact", text, brief=f"{known} hosts, no facts differ")


def tuned(record: RunRecord, _: StepRecord | None) -> Iterator[ObjectionEvidence]:
    """Yield the CPU governors and clock sources that were read on the hosts."""
    for name, title in (("governor", "CPU governor"), ("clocksource", "clock source")):
        values = {str(value) for host in record.hosts if (value := host.facts.get(name))}
        if values:
            text = f"{title} {', '.join(sorted(values))}"
            yield ObjectionEvidence("fact", text, brief=text)

"""Checks of file contents: whether the data read or written could have been compressed or
deduplicated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.judge.check import (
    CheckResult,
    Severity,
    StepEvidence,
    UnknownError,
    of_hosts_in_step,
    step_check,
    why_unknown,
    writers_of,
)
from tui.metrics import units
from tui.model.host_tables import Content, Written, rows
from tui.model.operands import Clause, Operands, clause

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tui.model.host_record import HostRecord
    from tui.model.step_record import Scalar


@step_check(
    "reducible-data",
    "Reducible data",
    rule=(
        "no option makes the written data compressible or identical; the content check examines the"
        " data itself"
    ),
    advice=(
        "Use refill_buffers=1 without other buffer options, or quote the reduction ratio with"
        " the figure."
    ),
    source=(
        "zero_buffers, buffer_pattern, buffer_compress_percentage, dedupe_percentage,"
        " scramble_buffers"
    ),
)
def reducible(at: StepEvidence) -> Iterator[CheckResult]:
    """An array that compresses or deduplicates stores less than the load writes: the figure
    overstates what reached the media.
    """
    options = list(dict.fromkeys(job.reducible for job in writers_of(at) if job.reducible))
    if options:
        operands: Operands = {"options": options}
        yield CheckResult("warning", "options", ", ".join(options), "none", operands=operands)


# size after gzip; distinct among the sampled; fewer blocks are not judged
DATA, OTHERS, LEAST_BLOCKS = 0.8, 0.5, 4


@of_hosts_in_step(lambda at, host: "" if _sampled(at, host) else "file-blocks")
@step_check(
    "content",
    "File contents",
    rule=(
        f"of {LEAST_BLOCKS} or more sampled blocks, at least half are not zeros (for writes: of"
        f" those for which file extents show a write), at least {units.share(OTHERS)} of the others"
        f" differ, and gzip leaves at least {units.share(DATA)} of each; a note if fewer than"
        f" {units.share(OTHERS)} of the 16-byte pieces in 1 MiB of contiguous data, or in all"
        " sampled blocks, are distinct; data that the job declares reducible is left to"
        " reducible-data; an error if all sampled blocks that are read are zeros, and no file"
        " extents show that they were written (a device, NFS)"
    ),
    advice=(
        "Lay the files out with the load generator's random data (prepare: layout), or write"
        " the whole device once: a drive or array that reduces data reads or stores almost nothing."
    ),
    source=(
        "dd, cksum and gzip on 16 blocks of 4 KiB per host, and od on 1 MiB, before the first 8"
        " reading steps and after the first 8 writing steps"
    ),
    when="files",
)
def content(at: StepEvidence) -> Iterator[CheckResult]:
    """Options state what the load writes.

    The data on disk may be older, or from a program that writes something else."""
    here = [(host.name, row) for host in at.run.hosts for row in _sampled(at, host)]
    if not here:
        raise UnknownError("file-blocks", quote=why_unknown(at, "content"))
    known = any(job.reducible for job in at.step.jobs)  # by reducible-data
    for kind in ("read", "written"):
        if kind == "written" and known:
            continue
        rows_of_kind = [(host, row) for host, row in here if row.kind == kind]
        reduced = {
            host: why for host, row in rows_of_kind if (why := _reduced(at, host, row)) is not None
        }
        similar = {host: why for host, row in rows_of_kind if (why := _similar(row)) is not None}
        empty = kind == "read" and any(
            _never_seen(at, host, row) for host, row in rows_of_kind if host in reduced
        )
        cases: list[tuple[Severity, str, dict[str, Clause]]] = [
            ("error" if empty else "warning", "reducible", reduced),
            ("info", "similar", {} if reduced else similar),
        ]
        for severity, code, hosts in cases:
            if hosts:
                scope: dict[str, Scalar] = {"hosts": " ".join(hosts)}
                operands: Operands = {"kind": kind, "hosts": list(hosts.items())}
                yield CheckResult(severity, code, len(hosts), 0, scope, operands)


def _sampled(at: StepEvidence, host: HostRecord) -> list[Content]:
    """Return the samples of a host's files in this step that have enough blocks."""
    found = rows(host.facts, Content)
    return [row for row in found if row.step == at.step.index and row.blocks >= LEAST_BLOCKS]


def _reduced(at: StepEvidence, host: str, row: Content) -> Clause | None:
    """Return how the sampled data can be reduced; None if it looks random."""
    data = row.blocks - row.zero
    if 2 * row.zero > row.blocks and not _explained(at, host, row):
        return clause("zeros", zeros=row.zero, blocks=row.blocks)
    if data < LEAST_BLOCKS:
        return None
    if row.distinct < OTHERS * data:
        return clause("alike", blocks=data, distinct=row.distinct)
    if row.packed is not None and row.packed < DATA:
        return clause("gzip", left=row.packed)
    return None


def _never_seen(at: StepEvidence, host: str, row: Content) -> bool:
    """Return whether all sampled blocks are zeros, and no file extents show that any was written:
    storage may answer such reads without reading its media.
    """
    facts = next((each.facts for each in at.run.hosts if each.name == host), {})
    return row.zero == row.blocks and not rows(facts, Written)


def _similar(row: Content) -> Clause | None:
    """Return how sampled blocks resemble each other; None if they differ like random data.

    Most arrays find such blocks only within their compression unit; some find them anywhere.
    """
    if row.row is not None and row.row < OTHERS:
        return clause("row", share=row.row)
    if row.apart is not None and row.apart < OTHERS:
        return clause("apart", share=row.apart, blocks=row.blocks)
    return None


def _explained(at: StepEvidence, host: str, row: Content) -> bool:
    """Return whether blocks without data can explain why most blocks are zeros."""
    if row.kind == "read":
        return _has_holes(at, host)
    if row.never_written is None:
        return True
    return row.zero - row.never_written * row.blocks <= row.blocks / 2


def _has_holes(at: StepEvidence, host: str) -> bool:
    """Return whether zeros come from unwritten blocks, which another check reports."""
    facts = next((each.facts for each in at.run.hosts if each.name == host), {})
    known = [row for row in rows(facts, Written) if row.step == at.step.index]
    return any(
        row.never_written_bytes > (1 - at.limit("unwritten-data.written")) * row.size_bytes
        for row in known
    )

"""Export the run facts that an IO500 list submission requires, and list what is still
missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from tui.metrics import units
from tui.model.exporter import Exporter, ExportFile, ExportSource
from tui.model.host_record import HostRecord
from tui.model.hostfacts import Fact
from tui.model.problem import UsageError
from tui.model.record import RunRecord
from tui.model.step_record import MetadataRecord, StepRecord

TOOL = "io500"
QUESTIONS = (
    "institution, and a name for the system",
    "contact, and whether name and result may be published",
    "vendor, product and version of the storage system",
    "storage servers: number, CPUs, memory, network",
    "metadata servers: number, and whether they also store data",
    "storage media: number, type, model, capacity of each",
    "data protection and redundancy (replicas, erasure code, RAID), also of metadata",
    "interconnect: type, speed, topology",
    "client software and its version, if not part of the kernel",
    "tuning for this run, on clients and servers",
    "whether the system is in production, and its users",
)
Answers = Sequence[tuple[str, str]]


def _files(source: ExportSource) -> Iterator[ExportFile]:
    record = source.record
    found = [step for step in record.steps if step.tool == TOOL and step.metadata is not None]
    if not found:
        raise UsageError(f"{record.run_id}: no IO500 result")
    yield ExportFile(f"{record.run_id}.io500.md", [answers(record, found[-1]).encode()])


def answers(record: RunRecord, step: StepRecord) -> str:
    """Return facts and open questions for a submission, as Markdown."""
    found = [*_result(step.metadata), *_clients(record)] if step.metadata is not None else []
    known = [f"* {name}: {text}" for name, text in found if text]
    open_ones = [f"* {name}: unknown to benchtui" for name, text in found if not text]
    lines = [f"# IO500: {record.run_id}", "", "## Known from the run", "", *known]
    lines += ["", "## To be answered", "", *open_ones, *(f"* {question}" for question in QUESTIONS)]
    return "\n".join(lines) + "\n"


def _result(metadata: MetadataRecord) -> Answers:
    return [
        ("IO500", metadata.version or ""),
        ("result", "; ".join(metadata.printed)),
        ("invalid by IO500", "; ".join(metadata.invalid) or "no"),
        ("MPI library", metadata.mpi),
        ("MPI processes", str(metadata.tasks or "")),
        ("processes per client", str(metadata.ranks_per_host or "")),
    ]


def _clients(record: RunRecord) -> Answers:
    hosts = [host for host in record.hosts if host.role == "client" and host.facts]
    memory = _same(hosts, lambda facts: _size(facts.get("mem_bytes")))
    return [
        ("client nodes", str(len(hosts) or "")),
        ("client OS", _same(hosts, lambda facts: _text(facts, "os"))),
        ("client kernel", _same(hosts, lambda facts: _text(facts, "kernel"))),
        ("client CPU", _same(hosts, lambda facts: _text(facts, "cpu_model"))),
        ("client sockets", _same(hosts, lambda facts: _text(facts, "sockets"))),
        ("client cores", _same(hosts, lambda facts: _text(facts, "cores"))),
        ("client memory", memory),
        ("client network", _same(hosts, _network)),
        ("file system", _same(hosts, lambda facts: _text(facts, "target_fstype"))),
        ("mounted from", _same(hosts, lambda facts: _text(facts, "target_source"))),
        ("mount options", _same(hosts, lambda facts: _text(facts, "target_mount_options"))),
        ("capacity", _same(hosts, lambda facts: _size(facts.get("target_total_bytes")))),
    ]


def _same(hosts: Sequence[HostRecord], read: Callable[[Mapping[str, Fact]], str]) -> str:
    """Return the value that all hosts share, or each value with its number of hosts."""
    values = [text for host in hosts if (text := read(host.facts))]
    kinds = list(dict.fromkeys(values))
    if len(kinds) < 2:
        return "".join(kinds)
    return "; ".join(f"{text} ({units.plural(values.count(text), 'client')})" for text in kinds)


def _text(facts: Mapping[str, Fact], name: str) -> str:
    value = facts.get(name)
    return str(value) if isinstance(value, str | int) else ""


def _size(value: Fact) -> str:
    return units.size(value) if isinstance(value, int) else ""


def _network(facts: Mapping[str, Fact]) -> str:
    nics = facts.get("nics")
    rows = (
        [row for row in nics if isinstance(row, dict) and row.get("state") == "up"]
        if isinstance(nics, list)
        else []
    )
    return ", ".join(
        " ".join(str(row[key]) for key in ("kind", "driver") if row.get(key)) for row in rows
    )


ANSWERS = Exporter(
    "facts for a submission to the IO500 list, and the questions left to answer", _files
)

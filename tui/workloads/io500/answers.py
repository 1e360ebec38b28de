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
        raise UsageError(f"{record.run_id} has no IO500 result")
    yield ExportFile(f"{record.run_id}.io500.md", [answers(record, found[-1]).encode()])


def answers(record: RunRecord, step: StepRecord) -> str:
    """Return facts and open questions for a submission, as Markdown."""
    found = [*_result(step.metadata)] if step.metadata is not None else []
    found += [*_machines(record, "client"), *_target(record)]
    if any(host.role == "server" for host in record.hosts) or record.servers:
        found += _machines(record, "server")
    known = [f"* {name}: {text}" for name, text in found if text]
    open_ones = [f"* {name}: unknown to benchtui" for name, text in found if not text]
    lines = [f"# IO500: {record.run_id}", "", "## Known from the run", "", *known]
    lines += ["", "## To be answered", "", *open_ones, *(f"* {question}" for question in QUESTIONS)]
    return "\n".join(lines) + "\n"


def _result(metadata: MetadataRecord) -> Answers:
    return [
        ("IO500", metadata.version or ""),
        ("result", "; ".join(metadata.printed)),
        ("IO500 reports invalid", "; ".join(metadata.invalid) or "no"),
        ("MPI library", metadata.mpi),
        ("MPI processes", str(metadata.tasks or "")),
        ("processes per client", str(metadata.ranks_per_host or "")),
    ]


def _machines(record: RunRecord, role: str) -> Answers:
    """Return the facts of all clients, or of the monitored servers."""
    hosts = [host for host in (*record.hosts, *record.servers) if host.role == role and host.facts]
    return [
        (f"{role} nodes", str(len(hosts) or "")),
        (f"{role} OS", _same(hosts, lambda facts: _text(facts, "os"))),
        (f"{role} kernel", _same(hosts, lambda facts: _text(facts, "kernel"))),
        (f"{role} CPU", _same(hosts, lambda facts: _text(facts, "cpu_model"))),
        (f"{role} sockets", _same(hosts, lambda facts: _text(facts, "sockets"))),
        (f"{role} cores", _same(hosts, lambda facts: _text(facts, "cores"))),
        (f"{role} memory", _same(hosts, lambda facts: _size(facts.get("mem_bytes")))),
        (f"{role} network", _same(hosts, _network)),
    ]


def _target(record: RunRecord) -> Answers:
    hosts = [host for host in record.hosts if host.role == "client" and host.facts]
    return [
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
    return "; ".join(f"{text} ({units.plural(values.count(text), 'node')})" for text in kinds)


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
        " ".join([*(str(row[key]) for key in ("kind", "driver") if row.get(key)), *_speed(row)])
        for row in rows
    )


def _speed(row: Mapping[str, object]) -> list[str]:
    speed = row.get("speed_mbit")
    return [f"{speed / 1000:g} Gbit/s"] if isinstance(speed, int) and speed > 0 else []


ANSWERS = Exporter(
    "facts for a submission",
    _files,
    tools="the IO500 list",
    details="one Markdown file: facts of the run, and the questions left to answer",
)

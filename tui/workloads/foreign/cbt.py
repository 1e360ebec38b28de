"""CBT, the Ceph benchmarking tool: run directories with the outputs of load generators.

``results/ITERATION/id-HASH/...`` is one run; each directory in it with outputs is a measurement.
``output.N.HOST`` is the output of process N on a host, ``json_output.N.HOST`` the JSON in it.
Concurrent processes of a host are added up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import nan
from pathlib import PurePosixPath

from msgspec.structs import replace

from tui import workloads
from tui.metrics.histogram import combine_directions
from tui.model.event import DirectionResult, HostResult, LatencyResult
from tui.model.operands import Clause, clause
from tui.model.problem import Problem, UsageError
from tui.workloads.base import Format, ImportedOutput, KeptFile, KeptRun
from tui.workloads.reading import budget, numbered

PLACE = re.compile(r"(?P<run>(?:.*/)?results/\d{8}/[^/]+)/(?P<point>.*?)/?(?P<name>[^/]+)")
OUTPUT = re.compile(r"(?P<json>json_)?output\.(?P<process>\d+)(?:\.(?P<host>[^/]+))?")
CSV = "result.csv"
CONFIG = "benchmark_config.yaml"
PREFILL = "prefill"
RADOS = re.compile(r"\s*(?P<name>[A-Z][\w()/-]*+(?: ++[\w()/-]++)*+)\s*:\s+(?P<value>[\d.]+)\s*")
RADOS_BEGIN = "Total time run"
RADOS_COUNTS = {"Total writes made": "write", "Total reads made": "read"}
SECONDS_NS = 1e9


class Cbt(Format):
    """Importer of CBT runs."""

    name = "cbt"

    def import_output(self, text: str, file: str) -> Sequence[ImportedOutput]:
        """Return the result of rados bench, which CBT also runs; empty if there is none.

        Raises UsageError.
        """
        if RADOS_BEGIN not in text:
            return ()
        found: dict[str, float] = {}
        for number, line in _lines(text, file):
            if match := RADOS.fullmatch(line):
                try:
                    found[match["name"]] = float(match["value"])
                except ValueError:
                    message = f"{match['name']}: found '{match['value']}', expected a number"
                    raise UsageError([Problem(message, file=file, line=number)]) from None
        output = _rados(found)
        return [output] if output is not None else []

    def import_tree(self, files: Sequence[KeptFile]) -> Sequence[KeptRun]:
        """Return the runs in a CBT archive: one per benchmark and iteration."""
        runs: dict[str, dict[str, list[KeptFile]]] = {}
        for file in files:
            match = PLACE.fullmatch(file.name)
            if match and (OUTPUT.fullmatch(match["name"]) or match["name"] == CSV):
                runs.setdefault(match["run"], {}).setdefault(match["point"], []).append(file)
        found = [_run(name, points) for name, points in sorted(runs.items())]
        return [run for run in found if run.measurements]


FORMAT = Cbt()


def _run(name: str, points: Mapping[str, Sequence[KeptFile]]) -> KeptRun:
    measured, kept, caveats = list[Mapping[str, ImportedOutput]](), list[KeptFile](), list[Clause]()
    for point, files in sorted(points.items()):
        if PREFILL in point.split("/"):
            continue
        hosts: dict[str, list[ImportedOutput]] = {}
        for host, file in _outputs(files):
            try:
                outputs = _read(file)
            except UsageError as error:
                caveats.append(clause("skipped", quote=str(error)))
                continue
            kept += [file] if outputs else []
            for each in outputs[-1:]:
                hosts.setdefault(each.host or host, []).append(each)
        if hosts:
            called = point or PurePosixPath(name).name
            measured.append(
                {host: replace(_summed(each), name=called) for host, each in hosts.items()}
            )
    return KeptRun(name, measured, kept, caveats)


def _outputs(files: Sequence[KeptFile]) -> Iterator[tuple[str, KeptFile]]:
    """Yield each process's output with its host; only the JSON if CBT extracted it."""
    found: dict[tuple[str, str], KeptFile] = {}
    # json_output comes first
    for file in sorted(files, key=lambda file: PurePosixPath(file.name).name):
        path = PurePosixPath(file.name)
        match = OUTPUT.fullmatch(path.name)
        host = (match["host"] or "host") if match else path.parent.name
        found.setdefault((host, match["process"] if match else "0"), file)
    for (host, _), file in found.items():
        yield host, file


def _read(file: KeptFile) -> list[ImportedOutput]:
    readers: list[Format] = [*workloads.every(), FORMAT]
    for reader in readers:
        if outputs := reader.import_output(file.text, file.place):
            return [replace(each, tool=each.tool or reader.name) for each in outputs]
    return []


def _summed(outputs: Sequence[ImportedOutput]) -> ImportedOutput:
    """Return the sum over one host's concurrent processes; percentiles only if all processes have
    histograms.
    """
    first = outputs[0]
    if len(outputs) == 1:
        return first
    names = dict.fromkeys(name for each in outputs for name in each.result.dirs)
    parts = {
        name: [each.result.dirs[name] for each in outputs if name in each.result.dirs]
        for name in names
    }
    ends = [each.result.end_ms for each in outputs if each.result.end_ms is not None]
    starts = [each.result.start_ms for each in outputs if each.result.start_ms is not None]
    result = HostResult(
        t=0.0,
        host="",
        step=0,
        dirs={name: combine_directions(each) for name, each in parts.items()},
        tool_version=first.result.tool_version,
        errors=sorted({number for each in outputs for number in each.result.errors}),
        start_ms=min(starts, default=None),
        end_ms=max(ends, default=None),
    )
    loads = (
        [load for each in outputs for load in each.loads]
        if all(each.loads for each in outputs)
        else []
    )
    return replace(first, result=result, loads=loads)


def _lines(text: str, file: str) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a text; CBT's JSON is read as lines ``NAME: VALUE``."""
    try:
        value = budget().json(text, file) if text.lstrip().startswith("{") else None
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        yield from enumerate((f"{name}: {each}" for name, each in value.items()), 1)
    else:
        yield from numbered(text, file)


def _rados(found: Mapping[str, float]) -> ImportedOutput | None:
    """Return the result of rados bench, which has no percentiles; None if figures are missing."""
    seconds = found.get(RADOS_BEGIN) or found.get(f"{RADOS_BEGIN} (sec)")
    name = next((name for label, name in RADOS_COUNTS.items() if label in found), None)
    if not seconds or name is None:
        return None
    ios = round(next(found[label] for label in RADOS_COUNTS if label in found))
    size = next(
        (found[label] for label in ("Write size", "Read size", "Object size") if label in found),
        0.0,
    )
    part = DirectionResult(ios, round(ios * size), seconds, ios / seconds, ios * size / seconds)
    mean = found.get("Average Latency(s)", found.get("Average Latency"))
    high = found.get("Max latency(s)", found.get("Max latency"))
    low = found.get("Min latency(s)", found.get("Min latency"))
    if mean is not None and high is not None and low is not None:
        deviation = found.get("Stddev Latency(s)", found.get("Stddev Latency", nan))
        part.lat = LatencyResult(
            ios,
            round(low * SECONDS_NS),
            round(high * SECONDS_NS),
            mean * SECONDS_NS,
            deviation * SECONDS_NS,
        )
        part.rounded = ["lat"]
    return ImportedOutput(
        0, f"rados bench {name}", HostResult(t=0.0, host="", step=0, dirs={name: part})
    )

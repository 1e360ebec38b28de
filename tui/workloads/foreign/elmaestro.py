"""ElMaestro: run directories with one directory per point of a sweep.

``POINT/raw/run.json`` is the load generator's output, ``POINT/result.json`` ElMaestro's summary of
it. Figures are read from the former: with fio on several hosts, the latter has figures of only one
host (up to 1.11.1 it looks for "All clients" under `hostname`, but fio writes it under `jobname`).
A note then gives both figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from tui import workloads
from tui.model.operands import Clause, clause
from tui.model.problem import UsageError
from tui.workloads.base import Format, ImportedOutput, KeptFile, KeptRun

RESULT, OUTPUT = "result.json", "raw/run.json"
SAME = 0.01  # relative difference up to which figures count as equal, rounded or not
TITLE = "ElMaestro"
SYNCHRONOUS = "psync"  # the only fio engine that it uses: one I/O at a time, whatever the depth


class _Phase(Struct):
    iops_first: float | None = None
    iops_last: float | None = None


class _Workload(Struct):
    name: str = ""
    io_depth: int = 1


class _Result(Struct):
    """Fields read from result.json. A file without a specification hash is from another program."""

    spec_hash: str
    phases: dict[str, _Phase]
    workload: _Workload
    engine: str = "elbencho"
    run_id: str = ""
    clients: list[object] = field(default_factory=list)


_decoder = msgspec.json.Decoder(_Result)


class ElMaestro(Format):
    """Importer of ElMaestro runs."""

    name = "elmaestro"

    def import_output(self, text: str, file: str) -> Sequence[ImportedOutput]:
        """Return nothing: a single result.json has figures of one host only; import the
        directory.
        """
        return ()

    def import_tree(self, files: Sequence[KeptFile]) -> Sequence[KeptRun]:
        """Return the runs in a directory, each point of a sweep as one measurement."""
        by_name = {file.name: file for file in files}
        runs: dict[str, list[tuple[_Result, KeptFile]]] = {}
        for name, file in sorted(by_name.items()):
            path = PurePosixPath(name)
            output = by_name.get(str(path.parent / OUTPUT))
            if path.name == RESULT and output is not None and (result := _result(file)) is not None:
                runs.setdefault(str(path.parent.parent), []).append((result, output))
        found = [_run(folder, points) for folder, points in runs.items()]
        return [run for run in found if run.measurements]


FORMAT = ElMaestro()


def _result(file: KeptFile) -> _Result | None:
    try:
        return _decoder.decode(file.text)
    except msgspec.MsgspecError:
        return None


def _run(folder: str, points: Sequence[tuple[_Result, KeptFile]]) -> KeptRun:
    measured, files, caveats = (
        list[Mapping[str, ImportedOutput]](),
        list[KeptFile](),
        list[Clause](),
    )
    for result, file in points:
        try:
            outputs = workloads.last_outputs(file)
        except UsageError as error:
            caveats.append(clause("skipped", quote=str(error)))
            continue
        if outputs:
            files.append(file)
            name = result.workload.name or PurePosixPath(file.name).parts[-3]
            measured.append({each.host or "host": replace(each, name=name) for each in outputs})
            caveats += _caveats(name, result, outputs)
    return KeptRun(folder, measured, files, caveats)


def _caveats(name: str, result: _Result, outputs: Sequence[ImportedOutput]) -> Iterator[Clause]:
    """Yield notes on errors in ElMaestro's own result, compared with the load generator's
    output.
    """
    if result.engine != "fio":
        return
    for direction, phase in sorted(result.phases.items()):
        rates = {
            each.host: each.result.dirs[direction].iops
            for each in outputs
            if direction in each.result.dirs
        }
        total, printed = sum(rates.values()), phase.iops_last or phase.iops_first
        if printed is None or len(rates) < 2 or abs(printed - total) <= SAME * total:
            continue
        alone = next(
            (host for host, rate in rates.items() if abs(printed - rate) <= SAME * rate), ""
        )
        yield clause(
            "other-total",
            point=name,
            by=TITLE,
            printed=printed,
            direction=direction,
            alone=alone,
            hosts=len(rates),
            total=total,
        )
    if result.workload.io_depth > 1:
        yield clause(
            "other-depth",
            point=name,
            depth=result.workload.io_depth,
            by=TITLE,
            program=result.engine,
            engine=SYNCHRONOUS,
        )

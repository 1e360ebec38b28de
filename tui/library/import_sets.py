"""Group imported outputs: hosts into measurements, measurements into runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

import msgspec

from tui import workloads
from tui.library.import_copies import without_copies
from tui.library.import_sources import ImportSource, impossible
from tui.model.event import Sample
from tui.model.operands import clause
from tui.model.problem import Problem, UsageError, did_you_mean
from tui.workloads.base import Format, ImportedOutput, KeptFile, KeptLog, KeptRun
from tui.workloads.foreign import formats

HOST = "host"  # if neither the output nor its file has a name

_TIME = r"(?:[T_ .-]?(?:[01]\d|2[0-3])(?P<{0}>[:._-]?)[0-5]\d(?:(?P={0})[0-5]\d)?Z?)?"
_YEAR_FIRST = (
    r"(?:19|20)\d\d(?P<a>[-_.]?)(?:0[1-9]|1[0-2])(?P=a)(?:0[1-9]|[12]\d|3[01])" + _TIME.format("b")
)
_YEAR_LAST = r"[0-3]\d(?P<c>[-_.])[0-3]\d(?P=c)(?:19|20)\d\d" + _TIME.format("d")
_EPOCH = r"1\d{9}(?:\d{3})?"
_DATE = re.compile(rf"(?<![0-9A-Za-z])(?:{_YEAR_FIRST}|{_YEAR_LAST}|{_EPOCH})(?![0-9A-Za-z])")
_SEPARATORS = "-_. "


def host_names(names: Sequence[str], *, without_dates: bool = True) -> list[str]:
    """Return unique host names, made from file names, for outputs that contain none.

    `without_dates`: remove dates and times, so that nightly files belong to one host.
    """
    found: list[str] = []
    for name in names:
        stem = "-".join(PurePosixPath(name).stem.split())
        stem = (dateless(stem) if without_dates else stem) or HOST
        count = sum(other == stem or other.startswith(f"{stem}#") for other in found)
        found.append(f"{stem}#{count + 1}" if count else stem)
    return found


def dateless(stem: str) -> str:
    """Return a file's stem without dates, times of day and epoch seconds; possibly empty."""
    if not _DATE.search(stem):
        return stem
    parts = _DATE.sub("\0", stem).split("\0")
    return "-".join(filter(None, (part.strip(_SEPARATORS) for part in parts)))


def nights(names: Sequence[str], hosts: Sequence[str] = ()) -> list[list[int]]:
    """Return, for each run, the indices of its files; several files of a host are separate runs.

    Files belong to one host if their names differ only by date, or if `hosts` (one per file) says
    so. If all hosts have the same number of files, each night is a run; otherwise all files are one
    run.
    """
    series: dict[str, list[int]] = {}
    for index, key in enumerate(hosts or map(_without_date, names)):
        series.setdefault(key, []).append(index)
    by_host = [sorted(each, key=lambda index: names[index]) for each in series.values()]
    if len({len(each) for each in by_host}) != 1 or len(set(names)) < len(names):
        return [list(range(len(names)))]
    return [sorted(night) for night in zip(*by_host, strict=True)]


def _without_date(name: str) -> str:
    path = PurePosixPath(name)
    return f"{path.parent}/{dateless(path.stem)}{path.suffix}"


PROSE = "; for figures in prose, see benchtui baselines"
DAMAGED = (
    ValueError,
    ArithmeticError,
    LookupError,
    TypeError,
    AttributeError,
    RecursionError,
    AssertionError,
)
EPOCH_MS = 10**11  # a later stamp is a time of day
# of the shorter one: outputs that overlap at least this much are hosts of one measurement
OVERLAP = 0.5


def readers(tool: str | None) -> list[Format]:
    """Return all readers of saved output, or only the one named `tool`. Raises UsageError."""
    known: list[Format] = [*workloads.every(), *formats()]
    found = [reader for reader in known if tool in (None, reader.name)]
    if not found:
        names = [reader.name for reader in known]
        raise UsageError(
            f"--tool {tool} is unknown{did_you_mean(tool or '', names)}; known: {', '.join(names)}"
        )
    return found


class Naming(msgspec.Struct, frozen=True):
    """Naming of hosts in outputs without a host name.

    `hosts`: names given by the user, one per file; without them, names come from the files.
    `dateless`: remove dates.
    """

    hosts: Sequence[str] = ()
    dateless: bool = True

    def of(self, files: Sequence[KeptFile]) -> list[str]:
        """Return a name for each file."""
        return list(self.hosts) or host_names(
            [file.name for file in files], without_dates=self.dateless
        )

    def nights(self, files: Sequence[KeptFile]) -> list[list[int]]:
        """Return, for each run, the indices of its files."""
        if not self.dateless:
            return [list(range(len(files)))]
        return nights([file.name for file in files], self.hosts)

    def only(self, places: Sequence[int]) -> Naming:
        """Return the naming for a subset of the files."""
        return msgspec.structs.replace(
            self, hosts=[self.hosts[at] for at in places] if self.hosts else ()
        )


def kept_runs(
    sources: Sequence[ImportSource], tool: str | None = None, naming: Naming | None = None
) -> list[KeptRun]:
    """Return the runs in these paths: files become hosts of one run; directories and archives
    contain runs.

    Files whose names differ only by date are separate runs. Raises UsageError naming all unreadable
    files.
    """
    known, naming = readers(tool), naming or Naming()
    files = [source.files[0] for source in sources if not source.is_tree]
    runs = _of_files(files, known, naming) if files else []
    for source in sources:
        if source.is_tree:
            runs += _of_tree(source, known, naming)
    return runs


def outputs_of(file: KeptFile, known: Sequence[Format]) -> list[ImportedOutput]:
    """Return the outputs in a file, grouped by tool. Raises UsageError."""
    found: list[ImportedOutput] = []
    for reader in known:
        first = 1 + max((each.place for each in found), default=-1)
        outputs = _guarded(reader, file)
        found += [
            msgspec.structs.replace(each, place=each.place + first, tool=each.tool or reader.name)
            for each in outputs
        ]
    return found


def _guarded(reader: Format, file: KeptFile) -> Sequence[ImportedOutput]:
    """Return the outputs that a reader finds in a file; its exceptions become errors that name the
    file.
    """
    try:
        found = reader.import_output(file.text, file.place)
    except DAMAGED as error:
        why = f"damaged output of {reader.name}: {type(error).__name__}: {str(error)[:80]}"
        raise UsageError(Problem(why, file=file.place)) from error
    for output in found:
        _check_numbers(output, reader, file.place)
    return found


def _check_numbers(output: ImportedOutput, reader: Format, place: str) -> None:
    """Raise UsageError if an output contains impossible counts."""
    if wrong := impossible(output):
        raise UsageError(
            Problem(f"impossible value in output of {reader.name}: {wrong}", file=place)
        )


def nothing_in(place: str, known: Sequence[Format]) -> Problem:
    """Return the problem for a file or directory without readable output."""
    *most, last = [reader.name for reader in known]
    names = f"{', '.join(most)} or {last}" if most else last
    return Problem(f"contains no readable output of {names}{PROSE if most else ''}", file=place)


# -- named files: each is another host, or another night


def _of_files(files: Sequence[KeptFile], known: Sequence[Format], naming: Naming) -> list[KeptRun]:
    outputs = [outputs_of(file, known) for file in files]
    if empty := [
        nothing_in(file.place, known)
        for file, found in zip(files, outputs, strict=True)
        if not found
    ]:
        raise UsageError(empty)
    if naming.hosts:
        outputs = [_unnamed(file, found) for file, found in zip(files, outputs, strict=True)]
    else:
        kept = without_copies(list(zip(files, map(list, outputs), strict=True)))
        files, outputs = [file for file, _ in kept], [found for _, found in kept]
    return [
        _of_night([files[at] for at in night], [outputs[at] for at in night], naming.only(night))
        for night in naming.nights(files)
    ]


def _of_night(
    files: Sequence[KeptFile], outputs: Sequence[Sequence[ImportedOutput]], naming: Naming
) -> KeptRun:
    """Return one run in which each file is a host."""
    hosts = naming.of(files)
    if len(files) == 1:
        return KeptRun("", side_by_side(hosts[0], outputs[0]), files)
    return KeptRun("", measurements(dict(zip(hosts, outputs, strict=True))), files)


def _unnamed(file: KeptFile, outputs: Sequence[ImportedOutput]) -> list[ImportedOutput]:
    """Return outputs with the host names removed, for a host named by the user.

    Raises UsageError if they are from several hosts.
    """
    if len(names := {each.host for each in outputs}) > 1:
        raise UsageError(
            Problem(
                f"contains the output of {len(names)} named hosts; omit --host",
                file=file.place,
            )
        )
    return [msgspec.structs.replace(each, host="") for each in outputs]


def side_by_side(name: str, outputs: Sequence[ImportedOutput]) -> list[dict[str, ImportedOutput]]:
    """Return the outputs of one file by measurement and host: concurrent ones are from several
    hosts.
    """
    parts = list(_parts(name, outputs))
    apart = [
        msgspec.structs.replace(part, stem=f"{name}#{number}")
        for number, part in enumerate(parts, 1)
    ]
    groups = [
        group if len(group) > 1 else [parts[apart.index(group[0])]] for group in _groups(apart)
    ]
    return [_measurement(group, together=True) for group in groups]


def measurements(files: Mapping[str, Sequence[ImportedOutput]]) -> list[dict[str, ImportedOutput]]:
    """Return the outputs of several files by measurement and host.

    The files are hosts of one run; their keys name the host of outputs without a host name. Raises
    UsageError.
    """
    counts = {name: len({each.place for each in outputs}) for name, outputs in files.items()}
    if len(set(counts.values())) > 1:
        found_in = ", ".join(f"{name} {count}" for name, count in counts.items())
        raise UsageError(
            "files of several hosts must have the same number of measurements each; found:"
            f" {found_in}"
        )
    found: list[dict[str, ImportedOutput]] = [{} for _ in range(max(counts.values(), default=0))]
    for name, outputs in files.items():
        places = list(dict.fromkeys(each.place for each in outputs))
        for each in outputs:
            found[places.index(each.place)][each.host or name] = each
    return found


# -- directories


def _of_tree(source: ImportSource, known: Sequence[Format], naming: Naming) -> Iterator[KeptRun]:
    """Yield the runs in a directory: by a tool's layout, else one per directory with outputs."""
    place = str(source.path)
    for reader in reversed(known):
        try:
            if runs := reader.import_tree(source.files):
                for output in (
                    each for run in runs for part in run.measurements for each in part.values()
                ):
                    _check_numbers(output, reader, place)
                yield _with_caveats(
                    _with_tool(runs[0], reader), [problem for _, problem in source.left_out]
                )
                yield from (_with_tool(run, reader) for run in runs[1:])
                return
        except DAMAGED as error:
            raise UsageError(
                Problem(f"damaged output of {reader.name}: {error}", file=place)
            ) from error
    runs, stray = [], []
    folders, broken = _folders(source.files), _broken(source)
    for folder in {**folders, **broken}:
        found, wrong = _of_folder(folders.get(folder, []), known, broken.get(folder, []), naming)
        runs += [msgspec.structs.replace(run, name=folder or source.path.name) for run in found]
        stray += [] if found else wrong
    if not runs:
        raise UsageError(stray or [nothing_in(place, known)])
    yield _with_caveats(runs[0], stray)
    yield from runs[1:]


def _with_caveats(run: KeptRun, problems: Sequence[Problem]) -> KeptRun:
    """Return the run with a note for each problem that kept data from being imported."""
    return msgspec.structs.replace(
        run,
        caveats=[*run.caveats, *(clause("left-out", quote=str(each)) for each in problems)],
    )


def _broken(source: ImportSource) -> dict[str, list[Problem]]:
    """Return problems of unreadable files, by directory."""
    found: dict[str, list[Problem]] = {}
    for name, problem in source.left_out:
        found.setdefault(_folder_of(name), []).append(problem)
    return found


def _with_tool(run: KeptRun, reader: Format) -> KeptRun:
    """Return the run; outputs that name no tool get the reader's name as their tool."""
    parts = [
        {
            host: msgspec.structs.replace(each, tool=each.tool or reader.name)
            for host, each in part.items()
        }
        for part in run.measurements
    ]
    return msgspec.structs.replace(run, measurements=parts)


def _folders(files: Sequence[KeptFile]) -> dict[str, list[KeptFile]]:
    found: dict[str, list[KeptFile]] = {}
    for file in files:
        found.setdefault(_folder_of(file.name), []).append(file)
    return found


def _folder_of(name: str) -> str:
    folder = str(PurePosixPath(name).parent)
    return "" if folder == "." else folder


def _of_folder(
    files: Sequence[KeptFile], known: Sequence[Format], broken: Sequence[Problem], naming: Naming
) -> tuple[list[KeptRun], list[Problem]]:
    """Return the runs in one directory, and problems of unreadable files including `broken`."""
    found: list[tuple[KeptFile, list[ImportedOutput]]] = []
    logs, problems = _logs(files, known)
    problems = [*broken, *problems]
    logged = {file.place for log in logs for file in log.files}
    for file in (each for each in files if each.place not in logged):
        try:
            if outputs := outputs_of(file, known):
                found.append((file, outputs))
        except UsageError as error:
            problems += error.problems
    read = [file for file, _ in found]
    found = without_copies(found)
    if not logs and len(apart := _nights(found, naming)) > 1:
        runs = [KeptRun("", grouped(each, naming), [file for file, _ in each]) for each in apart]
        return [_with_caveats(runs[0], problems), *runs[1:]], problems
    for partial in _partial_logs(found, logs, known):
        why = (
            "logs of only some jobs, or of several jobs in one file, are not the time series of"
            " the result"
        )
        problems.append(Problem(why, file=partial[0].files[0].place))
        logs = [log for log in logs if log not in partial]
    alone = [log for log in logs if not _put_beside(log, found)]
    found += [(KeptFile(log.stem, log.files[0].place, ""), [log.output]) for log in alone]
    if not found:
        return [], problems
    kept = [file for file in files if file.place in logged or any(file is each for each in read)]
    return [_with_caveats(KeptRun("", grouped(found, naming), kept), problems)], problems


def _partial_logs(
    found: Sequence[tuple[KeptFile, list[ImportedOutput]]],
    logs: Sequence[KeptLog],
    known: Sequence[Format],
) -> list[list[KeptLog]]:
    """Compare each output with its logs, and return the logs that do not add up to their output.

    If a directory has several outputs, each has the logs with its name: a later run overwrites the
    unnamed logs of an earlier one.
    """
    partial = []
    for file, outputs in found:
        stem = PurePosixPath(file.name).stem
        own = [log for log in logs if len(found) == 1 or log.stem == stem]
        if own and len(outputs) == 1 and not _compare_logs(file, outputs[0], own, known):
            partial.append(own)
    return partial


def _compare_logs(
    file: KeptFile, output: ImportedOutput, logs: Sequence[KeptLog], known: Sequence[Format]
) -> bool:
    """Add the contradictions between an output and its logs to the output.

    Returns whether the logs add up to the output; true if they were not compared.
    """
    reader = next((each for each in known if each.name == output.tool), None)
    if reader is None or output.result.contradictions is None:
        return True
    compared = reader.beside_logs(file, [each for log in logs for each in log.files])
    output.result.contradictions += compared.contradictions
    return compared.whole


def _nights(
    found: Sequence[tuple[KeptFile, list[ImportedOutput]]], naming: Naming
) -> list[list[tuple[KeptFile, list[ImportedOutput]]]]:
    """Group the outputs of a directory by night; all in one group if they are from different
    loads.
    """
    if len({str(_load(outputs[0])) for _, outputs in found}) > 1:
        return [list(found)]
    return [[found[at] for at in night] for night in naming.nights([file for file, _ in found])]


def _logs(
    files: Sequence[KeptFile], known: Sequence[Format]
) -> tuple[list[KeptLog], list[Problem]]:
    """Return the results of log files, of any tool, and problems of unreadable ones."""
    logs: list[KeptLog] = []
    problems: list[Problem] = []
    for reader in known:
        try:
            for log in reader.import_logs(files):
                _check_numbers(log.output, reader, log.files[0].place)
                logs.append(
                    msgspec.structs.replace(
                        log, output=msgspec.structs.replace(log.output, tool=reader.name)
                    )
                )
        except UsageError as error:
            problems += error.problems
        except DAMAGED as error:
            why = f"damaged logs of {reader.name}: {type(error).__name__}: {str(error)[:80]}"
            problems.append(Problem(why, file=", ".join(file.place for file in files[:3])))
    return logs, problems


def _put_beside(log: KeptLog, found: Sequence[tuple[KeptFile, list[ImportedOutput]]]) -> bool:
    """Add the seconds of a log to the output it belongs to; return whether there is one."""
    stems = [PurePosixPath(file.name).stem for file, _ in found]
    mine = [index for index, stem in enumerate(stems) if stem == log.stem] or list(
        range(len(found))
    )
    places = [(index, place) for index in mine for place in range(len(found[index][1]))]
    named = [
        (index, place)
        for index, place in places
        if found[index][1][place].host in (log.output.host, "")
    ]
    if len(named) != 1:
        return False
    ((index, place),) = named
    output = found[index][1][place]
    if output.samples:
        return False
    found[index][1][place] = msgspec.structs.replace(
        output, samples=_placed(log.output.samples, output)
    )
    return True


def _placed(samples: Sequence[Sample], output: ImportedOutput) -> list[Sample]:
    """Return samples with times in epoch ms, if theirs are relative and the output's start time is
    known.
    """
    span = _Part("", {"": output}, alone=True).span
    begun_ms = (
        0
        if span is None or any(sample.host_time_ms > EPOCH_MS for sample in samples)
        else span[0] * 1000
    )
    return [
        msgspec.structs.replace(each, host_time_ms=round(begun_ms + each.host_time_ms))
        for each in samples
    ]


def grouped(
    found: Sequence[tuple[KeptFile, Sequence[ImportedOutput]]], naming: Naming
) -> list[dict[str, ImportedOutput]]:
    """Return the outputs of files in one directory by measurement and host.

    Outputs of the same load that ran at the same time, or at unknown times, are hosts of one
    measurement. Others are consecutive measurements, by start time if known, else by name.
    """
    stems = naming.of([file for file, _ in found])
    parts = [
        part
        for stem, (_, outputs) in zip(stems, found, strict=True)
        for part in _parts(stem, outputs)
    ]
    parts.sort(key=lambda part: (part.span is not None, part.span or (0.0, 0.0)))
    groups = _groups(parts)
    together = any(len(group) > 1 for group in groups)
    return [_measurement(group, together=together, own_name=True) for group in groups]


def _groups(parts: Sequence[_Part]) -> list[list[_Part]]:
    """Group the parts that are hosts of the same measurement."""
    groups: list[list[_Part]] = []
    for part in parts:
        home = next((group for group in groups if _fits(part, group)), None)
        if home is not None:
            home.append(part)
        else:
            groups.append([part])
    return groups


class _Part(msgspec.Struct, frozen=True):
    """One measurement in one file; `alone`: it is the file's only one."""

    stem: str
    hosts: Mapping[str, ImportedOutput]
    alone: bool

    @property
    def first(self) -> ImportedOutput:
        return next(iter(self.hosts.values()))

    @property
    def span(self) -> tuple[float, float] | None:
        """Start and end by the host's clock, in epoch seconds; None if unknown."""
        result = self.first.result
        if result.end_ms is None:
            return None
        length_s = max((part.runtime_s for part in result.dirs.values()), default=0.0)
        return result.end_ms / 1000 - length_s, result.end_ms / 1000


def _parts(stem: str, outputs: Sequence[ImportedOutput]) -> Iterator[_Part]:
    places = list(dict.fromkeys(each.place for each in outputs))
    for place in places:
        yield _Part(
            stem, {each.host: each for each in outputs if each.place == place}, len(places) == 1
        )


def _fits(part: _Part, group: Sequence[_Part]) -> bool:
    """Return whether a part is another host of this measurement."""
    first = group[0]
    if any(other.stem == part.stem or set(other.hosts) & set(part.hosts) - {""} for other in group):
        return False
    if _load(part.first) != _load(first.first):
        return False
    if part.span is None or first.span is None:
        return part.alone and part.span is first.span
    overlap = min(part.span[1], first.span[1]) - max(part.span[0], first.span[0])
    shorter = min(part.span[1] - part.span[0], first.span[1] - first.span[0])
    return overlap > OVERLAP * shorter


def _load(output: ImportedOutput) -> object:
    """Return a key of the load; outputs with different keys are from different loads."""
    loads = [
        (load.directions, load.random, load.workers, load.held, load.block_bytes)
        for load in output.loads
    ]
    return output.tool, output.name, sorted(output.result.dirs), loads


def _measurement(
    group: Sequence[_Part], *, together: bool, own_name: bool = False
) -> dict[str, ImportedOutput]:
    """Return the outputs of a measurement by host.

    `own_name`: name it after its file, if that has only one measurement.
    """
    found: dict[str, ImportedOutput] = {}
    for part in group:
        for host, output in part.hosts.items():
            name = part.stem if own_name and len(group) == 1 and part.alone else output.name
            found[host or (part.stem if together else HOST)] = msgspec.structs.replace(
                output, name=name
            )
    return found

"""Read elbencho's CSV and JSON result files and the tables it prints."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from math import isfinite, nan

from tui.model.event import DirectionResult, HostResult, LatencyResult, MetadataResult, OperationResult
from tui.model.plain_data import percentile_name
from tui.model.plan import JobLoad
from tui.model.problem import Problem, UsageError
from tui.workloads.base import Format, ImportedOutput
from tui.workloads.reading import budget, numbered

HEADER = re.compile(r"OPERATION\s+RESULT TYPE\s+FIRST DONE\s+LAST DONE\s*")
ROW = re.compile(r"(?P<phase>[A-Z0-9]+)?\s+(?P<what>[A-Za-z][\w/%]*+(?: ++[\w/%]++)*+)\s*:\s+(?P<values>\S.*)")
STAMP = re.compile(r"ISO DATE(?: start)?\s*: (\S+)")
COMMAND = re.compile(r"COMMAND LINE: (.*)")
ELAPSED = re.compile(r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:([\d.]+)s)?(?:(\d+)ms)?")
HUMAN_US = {"us": 1.0, "ms": 1e3, "s": 1e6}
LATENCY = re.compile(r"\b(min|avg|max)=([\d.]+)(us|ms|s)\b")
PERCENTILE = re.compile(r"(?<![\d.])([\d.]+)%<=(\d+)")
OPTIONS = {
    "-t": "threads", "--threads": "threads", "--iodepth": "IO depth", "-b": "block size", "--block": "block size",
}  # fmt: skip
SIZES = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
NAMES = {
    "IOPS": "IOPS", "IOPS write": "IOPS", "IOPS read": "rwmix read IOPS",
    "Total MiB": "MiB", "MiB write": "MiB", "MiB read": "rwmix read MiB",
    "IOs total": "IOs", "IOs write": "IOs", "IOs read": "rwmix read IOs",
    "Files/s": "entries/s", "Dirs/s": "entries/s", "Objects/s": "entries/s",
    "Files total": "entries", "Dirs total": "entries", "Objects total": "entries",
}  # fmt: skip
PREFIXES = {"IO": "", "IO wr": "", "IO rd": "rwmix read "}


def table_rows(text: str, file: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield each phase of the tables in a text with its line."""
    inside, row, line, above = False, dict[str, str](), 0, dict[str, str]()
    for number, raw in numbered(text, file):
        if match := STAMP.match(raw):
            above = {"ISO date": match[1], "begins": "1"}
        elif match := COMMAND.match(raw):
            above |= {"command": match[1], **_options(match[1])}
        elif HEADER.fullmatch(raw.rstrip()):
            inside = True
        elif inside and (match := ROW.fullmatch(raw.rstrip())):
            if match["phase"]:
                if row:
                    yield line, row
                row, line = {**above, "operation": match["phase"]}, number
            if row:
                _take(row, match["what"].strip(), match["values"])
    if row:
        yield line, row


def _options(command: str) -> dict[str, str]:
    """Return what the command tells of the load."""
    words, found = command.replace('"', " ").replace("=", " ").split(), dict[str, str]()
    for word, value in pairwise(words):
        if word in OPTIONS:
            found[OPTIONS[word]] = _size(value)
    found["direct IO"] = str(int("--direct" in words))
    found["random"] = str(int("--rand" in words))
    hosts = next((value for word, value in pairwise(words) if word == "--hosts"), "")
    if hosts and "[" not in hosts:
        found["hosts"] = str(hosts.count(",") + 1)
    return found


def _size(text: str) -> str:
    factor = SIZES.get(text[-1:].lower(), 1)
    digits = text.rstrip("kKmMgG")
    return str(int(digits) * factor) if digits.isdigit() else ""


def _take(row: dict[str, str], what: str, values: str) -> None:
    """Put a line of a table into a row: of two columns the last."""
    last = values.rsplit(maxsplit=1)[-1]
    if what == "Elapsed time":
        row["time ms [last]"] = str(_milliseconds(last))
    elif what.startswith("CPU util"):
        row["CPU% [last]"] = last
    elif what in NAMES:
        row[f"{NAMES[what]} [last]"] = last
    elif what.endswith(" latency") and (prefix := PREFIXES.get(what.removesuffix(" latency"))) is not None:
        for name, value, unit in LATENCY.findall(values):
            row[f"{prefix}IO lat us [{name}]"] = str(float(value) * HUMAN_US[unit])
    elif what.endswith(" lat % us") and (prefix := PREFIXES.get(what.removesuffix(" lat % us"))) is not None:
        found = dict(PERCENTILE.findall(values))
        row[f"{prefix}IO percentiles"] = " ".join(found)
        row |= {f"{prefix}IO p{name}": value for name, value in found.items()}


def _milliseconds(text: str) -> float:
    """Return a time as elbencho prints it: 2m3.241s, 30.140s, 586ms. Raises ValueError."""
    match = ELAPSED.fullmatch(text)
    if match is None or not text:
        raise ValueError(f"'{text}' as a time")
    hours, minutes, seconds, milliseconds = (float(group or 0) for group in match.groups())
    return ((hours * 60 + minutes) * 60 + seconds) * 1000 + milliseconds


MIB = 1 << 20
KEY = "operation"
NEEDED = (KEY, "time ms [last]")
PHASES = {"WRITE": "write", "READ": "read"}
OPERATIONS = {
    "MKDIRS": "dir-create",
    "RMDIRS": "dir-remove",
    "STAT": "stat",
    "RMFILES": "remove",
    "WRITE": "create",
    "READ": "read",
}
LATENCIES = {"min": "min_us", "avg": "avg_us", "max": "max_us"}
ALL_HOSTS = "all-hosts"
Row = Mapping[str, str]


class Elbencho(Format):
    """Results of elbencho."""

    name = "elbencho"

    def import_output(self, text: str, file: str) -> Sequence[ImportedOutput]:
        """Return a measurement for each phase. Raises UsageError."""
        found = [(line, row) for line, row in _rows(text, file) if row.get(KEY, "") in OPERATIONS]
        outputs: list[ImportedOutput] = []
        for line, row in found:
            try:
                outputs += _output(len(outputs), row)
            except ValueError as error:
                message = f"a result of elbencho holds what is no number: {error}"
                raise UsageError([Problem(message, file=file, line=line)]) from None
        return outputs


FORMAT = Elbencho()


def _rows(text: str, file: str) -> Iterator[tuple[int, Row]]:
    """Yield the phases in a text, by the names of columns in its CSV."""
    if "phase_type" in text and "last_done" in text:
        yield from _of_json(text, file)
    elif all(name in text for name in NEEDED):
        yield from _of_csv(text, file)
    else:
        yield from table_rows(text, file)


def _of_csv(text: str, file: str) -> Iterator[tuple[int, Row]]:
    names: list[str] = []
    reader = csv.reader(line for _, line in numbered(text, file))
    try:
        for words in reader:
            if all(name in words for name in NEEDED):
                names = words
            elif names and len(words) == len(names):
                yield reader.line_num, dict(zip(names, words, strict=True))
    except csv.Error as error:
        raise UsageError(Problem(str(error), file=file, line=reader.line_num)) from None


def _of_json(text: str, file: str) -> Iterator[tuple[int, Row]]:
    """Yield the phases of JSON lines."""
    for number, line in numbered(text, file):
        try:
            value = budget().json(line, file) if "phase_type" in line else None
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield number, _as_row(value)


def _as_row(phase: Mapping[str, object]) -> Row:
    """Return a phase as a row of the CSV."""
    done, config = _part(phase, "last_done"), _part(phase, "config")
    row = {
        KEY: str(phase.get("phase_type", "")),
        "ISO date": str(phase.get("iso_start_date", "")),
        "label": str(phase.get("label", "")),
        "time ms [last]": str(done.get("elapsed_time_ms", "")),
        "CPU% [last]": str(done.get("cpu%", "")),
        "hosts": str(config.get("hosts", "")),
        "threads": str(config.get("threads", "")),
        "block size": str(config.get("block_size", "")),
        "IO depth": str(config.get("io_depth", "")),
        "direct IO": str(config.get("direct_io", "")),
        "random": str(config.get("random_offsets", "")),
        "version": str(config.get("version", "")),
        "command": str(config.get("command", "")),
        "begins": "1",
    }
    for prefix, part in (("", done), ("rwmix read ", _part(done, "rwmix_read"))):
        row |= {
            f"{prefix}entries/s [last]": str(part.get("entries/s", "")),
            f"{prefix}entries [last]": str(part.get("entries", "")),
            f"{prefix}IOPS [last]": str(part.get("iops", "")),
            f"{prefix}bytes [last]": str(part.get("bytes", "")),
        }
    latency = _part(_part(done, "latency"), "IO")
    for prefix, part in (("", latency), ("rwmix read ", _part(latency, "rwmix_read"))):
        row |= {f"{prefix}IO lat us [{name}]": str(part.get(key, "")) for name, key in LATENCIES.items()}
    return row


def _part(value: Mapping[str, object], name: str) -> Mapping[str, object]:
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def _output(place: int, row: Row) -> Iterator[ImportedOutput]:
    """Yield the measurement of one phase; none when it did nothing."""
    seconds = (_number(row, "time ms [last]") or 0.0) / 1000
    hosts = int(_number(row, "hosts") or 1)
    result = HostResult(t=0.0, host="", step=place, dirs=dict(_directions(row, seconds)), tool_version=_version(row))
    _stamp(result, row, seconds)
    name = " ".join(filter(None, (row.get("label", "").strip(), row[KEY].lower())))
    load = list(_loads(row, result, hosts))
    metadata = None if result.dirs else _operation(place, row, seconds, hosts)
    if result.dirs or metadata is not None:
        command, host = row.get("command", "").strip(), ALL_HOSTS if hosts > 1 else ""
        yield ImportedOutput(place, name, result, host, load, None, command, 1.0, metadata)


def _version(row: Row) -> str:
    return f"elbencho-{row['version']}" if row.get("version") else ""


def _stamp(result: HostResult, row: Row, seconds: float) -> None:
    """Put in when it ran; rows are stamped at the end, phases of JSON with their begin."""
    try:
        stamp = datetime.fromisoformat(row.get("ISO date", ""))
    except ValueError:
        return
    at_ms = round((stamp if stamp.tzinfo else stamp.replace(tzinfo=UTC)).timestamp() * 1000)
    result.end_ms = at_ms + round(seconds * 1000) if row.get("begins") else at_ms


def _directions(row: Row, seconds: float) -> Iterator[tuple[str, DirectionResult]]:
    mixed = _number(row, "rwmix read IOPS [last]") is not None
    for prefix, name in (("", PHASES.get(row[KEY])), ("rwmix read ", "read" if mixed else None)):
        iops = _number(row, f"{prefix}IOPS [last]")
        if name is None or iops is None or not seconds:
            continue
        exact, mib = _number(row, f"{prefix}bytes [last]"), _number(row, f"{prefix}MiB [last]")
        moved = exact if exact is not None else (mib or 0.0) * MIB
        block, counted = _number(row, "block size"), _number(row, f"{prefix}IOs [last]")
        whole = exact is not None and block and exact % block == 0
        ios = counted if counted is not None else exact // block if whole and exact and block else iops * seconds
        rounded = ["iops", *([] if counted is not None or whole else ["ios"]), "lat"]
        rounded += [] if exact is not None else ["bytes", "bw_bytes_per_s"]
        part = DirectionResult(round(ios), round(moved), seconds, iops, moved / seconds, rounded=rounded)
        part.lat = _latency(row, prefix, part.ios)
        part.rounded = [each for each in rounded if getattr(part, each) is not None]
        yield name, part


def _latency(row: Row, prefix: str, ios: int) -> LatencyResult | None:
    """Return the latency of I/Os in whole microseconds; its deviation is not told."""
    low, mean, high = (_number(row, f"{prefix}IO lat us [{name}]") for name in LATENCIES)
    if low is None or mean is None or high is None or not ios:
        return None
    percentiles = {
        name: round(value * 1000)
        for printed in row.get(f"{prefix}IO percentiles", "").split()
        if (value := _number(row, f"{prefix}IO p{printed}")) is not None
        and (name := percentile_name(printed)) is not None
    }
    return LatencyResult(ios, round(low * 1000), round(high * 1000), mean * 1000, nan, percentiles)


def _loads(row: Row, result: HostResult, hosts: int) -> Iterator[JobLoad]:
    """Yield what all hosts did together: rates and latencies are told of all of them alone."""
    threads, depth = _number(row, "threads"), _number(row, "IO depth")
    if not threads or not result.dirs or KEY not in row:
        return
    workers = int(threads) * hosts
    yield JobLoad(
        name=row[KEY].lower(),
        directions=tuple(result.dirs),
        workers=workers,
        held=workers * int(depth or 1),
        queues=(depth or 1) > 1,
        direct=row.get("direct IO") in ("1", "true"),
        random=row.get("random") in ("1", "true"),
        durable="not told in the output",
        block_bytes=int(_number(row, "block size") or 0) or None,
    )


def _operation(place: int, row: Row, seconds: float, hosts: int) -> MetadataResult | None:
    rate = _number(row, "entries/s [last]")
    if rate is None:
        return None
    threads, entries = int(_number(row, "threads") or 0), int(_number(row, "entries [last]") or 0)
    tasks = threads * hosts
    operation = OperationResult(rate, rate, rate, None, [rate], [seconds])
    return MetadataResult(
        t=0.0,
        step=place,
        tool="elbencho",
        version=row.get("version", ""),
        tasks=tasks,
        nodes=hosts,
        items=entries // tasks if tasks else 0,
        iterations=1,
        operations={OPERATIONS[row[KEY]]: operation},
        ranks_per_node=threads,
    )


def _number(row: Row, name: str) -> float | None:
    """Return a figure of a row; None where it tells none. Raises ValueError."""
    text = row.get(name, "").strip()
    value = float(text) if text else None
    if value is not None and not (isfinite(value) and value >= 0):
        raise ValueError(f"'{text}' in {name}")
    return value

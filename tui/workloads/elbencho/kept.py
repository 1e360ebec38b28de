"""Import saved elbencho output: CSV and JSON result files, and the printed tables.

Figures are those of "last done", over all hosts together: elbencho prints no figures per host. JSON
is read like that of benchtui's own runs. Rates in CSV and tables are truncated to integers, so
bandwidth is computed from amount and time.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from math import isfinite
from typing import Any

from tui.model.event import DirectionResult, HostResult, LatencyResult
from tui.model.plain_data import percentile_name
from tui.model.plan import JobLoad
from tui.model.problem import Problem, UsageError
from tui.workloads.base import FormatMark, ImportedOutput
from tui.workloads.elbencho.contradictions import (
    BUCKET_COUNT,
    LIST,
    PERCENTILE,
    PhaseFacts,
    PhaseTotals,
    contradictions,
    load_options,
    missing_phases,
    of_table,
    options,
    size_of,
    steady_s,
)
from tui.workloads.elbencho.options import Phase, phase_of
from tui.workloads.elbencho.output import BUCKET, QUARTER, FinishedPhase, done, part, whole
from tui.workloads.reading import MOST_CONTRADICTIONS, budget, numbered

MIB = 1 << 20
PATH_TYPE = "path type"
WHOLE = "whole blocks"  # in rows made of JSON: sizes of files are multiples of the block
KEY = "operation"
NEEDED = (KEY, "time ms [last]")
ON = {"1": True, "true": True, "0": False, "false": False}
LATENCIES = {"min": "min_us", "avg": "avg_us", "max": "max_us"}
ALL_HOSTS = "all-hosts"
Row = Mapping[str, str]


def import_output(text: str, file: str) -> Sequence[ImportedOutput]:
    """Return one measurement per phase in a text, except phases that did no work. Raises
    UsageError.
    """
    if "phase_type" in text and "last_done" in text:
        return _numbered(_against_command(list(_of_json(text, file))))
    rows = _of_csv(text, file) if all(name in text for name in NEEDED) else table_rows(text, file)
    found: list[tuple[PhaseFacts, ImportedOutput | None]] = []
    for line, row in rows:
        if (phase := phase_of(row.get(KEY, ""), objects=_of_objects(row))) is None:
            continue
        try:
            found.append((_row_facts(row), next(_output(row, phase), None)))
        except ValueError as error:
            raise _no_number(error, file, line) from None
    return _numbered(_against_command(found))


def _no_number(error: ValueError, file: str, line: int) -> UsageError:
    return UsageError(
        [
            Problem(
                f"invalid number in an elbencho result: {error}",
                file=file,
                line=line,
            )
        ]
    )


def _numbered(found: Sequence[ImportedOutput]) -> list[ImportedOutput]:
    from msgspec.structs import replace

    return [
        replace(each, place=place, result=replace(each.result, step=place))
        for place, each in enumerate(found)
    ]


def _against_command(
    found: Sequence[tuple[PhaseFacts, ImportedOutput | None]],
) -> list[ImportedOutput]:
    """Return the outputs; add the contradictions among their figures, and those with the command
    line.

    A phase that did no work has no output.
    """
    missing = dict(missing_phases([facts for facts, _ in found]))
    outputs = []
    for at, (facts, output) in enumerate(found):
        if output is None:
            continue
        wrong = [*contradictions(facts), *([missing[at]] if at in missing else [])]
        known = output.result.contradictions or []
        output.result.contradictions = known + wrong[:MOST_CONTRADICTIONS]
        outputs.append(output)
    return outputs


# -- JSON


def _of_json(text: str, file: str) -> Iterator[tuple[PhaseFacts, ImportedOutput | None]]:
    """Yield the phases in JSON lines; other lines are skipped."""
    for number, line in numbered(text, file):
        try:
            value = budget().json(line, file) if "phase_type" in line else None
        except (ValueError, RecursionError):
            continue
        if not isinstance(value, dict):
            continue
        try:
            if (over := done(value, _block_of(part(value, "config")))) is not None:
                yield _json_facts(value, over), _json_output(value, over) if over.dirs else None
        except ValueError as error:
            raise _no_number(error, file, number) from None


def _block_of(config: Mapping[str, Any]) -> int | None:
    """Return the size of every I/O in bytes; None if the last I/O of a file is shorter."""
    size, block = whole(config, "file_size"), whole(config, "block_size")
    block = min(size, block) or block
    return block if block and size % block == 0 else None


def _json_output(value: Mapping[str, Any], over: FinishedPhase) -> ImportedOutput:
    config = part(value, "config")
    hosts = whole(config, "hosts") or 1
    for each in over.dirs.values():
        each.rounded = ["lat"] if each.lat is not None else []
    result = HostResult(t=0.0, host="", step=0, dirs=over.dirs, tool_version=_version(over.version))
    result.end_ms = over.end_ms
    row = {
        "threads": str(config.get("threads", "")),
        PATH_TYPE: str(config.get("path_type", "")),
        "IO depth": str(config.get("io_depth", "")),
        "direct IO": str(config.get("direct_io", "")),
        "random": str(config.get("random_offsets", "")),
        "block size": str(config.get("block_size", "")),
        WHOLE: "1" if _block_of(config) else "",
    }
    name = " ".join(filter(None, (str(value.get("label", "")).strip(), over.name.lower())))
    loads = list(_loads(row, over.name, result, hosts))
    command = str(config.get("command", "")).strip()
    last, latency = part(value, "last_done"), part(part(part(value, "last_done"), "latency"), "IO")
    rates = {"IOPS": whole(last, "iops")} | {
        f"us {what}": whole(latency, f"{what}_us") for what in LATENCIES if latency
    }
    mark = _mark(
        "JSON",
        over.name,
        (str(value.get("iso_start_date", "")), command),
        _json_amounts(last),
        rates,
    )
    host = ALL_HOSTS if hosts > 1 else ""
    first_ms = whole(part(value, "first_done"), "elapsed_time_ms")
    runtime_s = steady_s(command, row[PATH_TYPE], first_ms)
    return ImportedOutput(
        *(0, name, result, host, loads, runtime_s, command, 0.001),
        mark=mark,
        options=load_options(command),
    )


FORMATS = ("JSON", "CSV", "table")


def _mark(
    name: str, phase: str, begun: tuple[str, str], amounts: PhaseTotals, rates: Mapping[str, int]
) -> FormatMark:
    """Return what identifies a phase in each of its formats.

    `begun`: date and command; without milliseconds, several phases have the same date.
    """
    stamp, bare = begun[0], begun[1].replace('"', "")  # csv removes the first ones
    return FormatMark(
        name,
        FORMATS.index(name),
        phase,
        f"{stamp} {bare}" if "." in stamp and bare else "",
        {"ms": amounts.ms, "entries": amounts.entries, "MiB": amounts.bytes // MIB},
        {what: rate for what, rate in rates.items() if rate},
    )


def _json_facts(value: Mapping[str, Any], over: FinishedPhase) -> PhaseFacts:
    config, last = part(value, "config"), part(value, "last_done")
    first, latency = part(value, "first_done"), part(part(last, "latency"), "IO")
    names = ("hosts", "threads", "dirs", "files", "file_size", "block_size", "io_depth")
    return PhaseFacts(
        over.name,
        str(config.get("command", "")),
        str(config.get("path_type", "")),
        {name: whole(config, name) for name in names if str(config.get(name, "")).isdigit()},
        _flags(config, {"direct": "direct_io", "rand": "random_offsets"}),
        _json_amounts(first) if first else None,
        _json_amounts(last),
        whole(part(last, "rwmix_read"), "bytes"),
        whole(latency, "max_us") / 1e6,
        iops=whole(last, "iops"),
    )


def _flags(values: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, bool]:
    """Return whether each printed flag is on, by option."""
    words = {option: str(values.get(name, "")) for option, name in names.items()}
    return {option: ON[word] for option, word in words.items() if word in ON}


def _json_amounts(done_: Mapping[str, Any]) -> PhaseTotals:
    return PhaseTotals(*(whole(done_, name) for name in ("elapsed_time_ms", "entries", "bytes")))


def _version(version: str) -> str:
    return f"elbencho-{version}" if version else ""


# -- rows of CSV, and of tables


def _row_facts(row: Row) -> PhaseFacts:
    """Return the settings and amounts in a row. Raises ValueError."""
    names = {"hosts": "hosts", "threads": "threads", "dirs": "dirs", "files": "files",
        "file size": "file_size", "block size": "block_size", "IO depth": "io_depth"}  # fmt: skip
    of_csv = "time ms [first]" in row
    return PhaseFacts(
        row[KEY],
        row.get("command", ""),
        row.get(PATH_TYPE, ""),
        {key: int(row[name]) for name, key in names.items() if row.get(name, "").isdigit()},
        _flags(row, {"direct": "direct IO", "rand": "random"}) if of_csv else {},
        _row_amounts(row, "first") if of_csv else None,
        _row_amounts(row, "last"),
        round((_number(row, "rwmix read MiB [last]") or 0) * MIB),
        (_number(row, "IO lat us [max]") or 0) / 1e6,
        whole_mib=True,
        iops=int(_number(row, "IOPS [last]") or 0),
    )


def _row_mark(row: Row, command: str) -> FormatMark:
    table = "time ms [first]" not in row
    names = {"IOPS": "IOPS [last]"} | {f"us {what}": f"IO lat us [{what}]" for what in LATENCIES}
    rates = {what: round(_number(row, name) or 0) for what, name in names.items()}
    begun = ("" if table else row.get("ISO date", ""), command)
    amounts = _row_amounts(row, "last")
    return _mark("table" if table else "CSV", row[KEY], begun, amounts, {} if table else rates)


def _row_amounts(row: Row, done_: str) -> PhaseTotals:
    moved = _number(row, f"MiB [{done_}]") or 0
    return PhaseTotals(
        round(_number(row, f"time ms [{done_}]") or 0),
        round(_number(row, f"entries [{done_}]") or 0),
        round(moved * MIB),
    )


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


def _output(row: Row, phase: Phase) -> Iterator[ImportedOutput]:
    """Yield the measurement of one phase; nothing if it did no work."""
    seconds = (_number(row, "time ms [last]") or 0.0) / 1000
    hosts = int(_number(row, "hosts") or 1)
    dirs = dict(_directions(row, phase, seconds))
    result = HostResult(
        t=0.0, host="", step=0, dirs=dirs, tool_version=_version(row.get("version", ""))
    )
    _stamp(result, row, seconds)
    name = " ".join(filter(None, (row.get("label", "").strip(), row[KEY].lower())))
    load = list(_loads(row, row[KEY], result, hosts))
    if result.dirs:
        command, host = row.get("command", "").strip(), ALL_HOSTS if hosts > 1 else ""
        result.contradictions = list(of_table(row))[:MOST_CONTRADICTIONS]
        mark = _row_mark(row, command)
        first_ms = round(_number(row, "time ms [first]") or 0)
        runtime_s = steady_s(command, row.get(PATH_TYPE, ""), first_ms)
        yield ImportedOutput(
            *(0, name, result, host, load, runtime_s, command, 1.0),
            mark=mark,
            options=load_options(command),
        )


def _stamp(result: HostResult, row: Row, seconds: float) -> None:
    """Set the end time of a result. Tables, and CSV rows with milliseconds, have the start time;
    older rows have the end time.
    """
    try:
        stamp = datetime.fromisoformat(row.get("ISO date", ""))
    except ValueError:
        return
    begins = row.get("begins") or "." in row.get("ISO date", "")
    at_ms = round((stamp if stamp.tzinfo else stamp.replace(tzinfo=UTC)).timestamp() * 1000)
    result.end_ms = at_ms + round(seconds * 1000) if begins else at_ms


def _directions(row: Row, phase: Phase, seconds: float) -> Iterator[tuple[str, DirectionResult]]:
    mixed = _number(row, "rwmix read IOPS [last]") is not None
    for prefix, name in (
        ("", phase.direction if phase.makes_ios else None),
        ("rwmix read ", "read" if mixed else None),
    ):
        iops = _number(row, f"{prefix}IOPS [last]")
        if iops is None and seconds and (counted := _number(row, f"{prefix}IOs [last]")):
            iops = counted / seconds  # tables of objects have no line of IOPS
        if name is not None and iops is not None and seconds:
            yield name, _moved(row, prefix, iops, seconds)
    if (entries := _number(row, "entries/s [last]")) and seconds:
        count = _number(row, "entries [last]")
        done_ = round(count if count is not None else entries * seconds)
        rounded = ["iops"] if count is not None else ["iops", "ios"]
        yield (
            phase.files or phase.direction,
            DirectionResult(done_, 0, seconds, entries, 0.0, rounded=rounded),
        )


def _moved(row: Row, prefix: str, iops: float, seconds: float) -> DirectionResult:
    moved = (_number(row, f"{prefix}MiB [last]") or 0.0) * MIB
    counted = _number(row, f"{prefix}IOs [last]")
    rounded = ["iops", *([] if counted is not None else ["ios"]), "lat", "bytes", "bw_bytes_per_s"]
    ios = counted if counted is not None else iops * seconds
    found = DirectionResult(round(ios), round(moved), seconds, iops, moved / seconds)
    found.lat = _latency(row, prefix, found.ios)
    found.rounded = [each for each in rounded if getattr(found, each) is not None]
    return found


def _latency(row: Row, prefix: str, ios: int) -> LatencyResult | None:
    """Return I/O latencies in whole microseconds, without a deviation; None if they are not
    printed.
    """
    low, mean, high = (_number(row, f"{prefix}IO lat us [{name}]") for name in LATENCIES)
    if low is None or mean is None or high is None or not ios:
        return None
    percentiles = {
        name: round(value * 1000)
        for printed in row.get(f"{prefix}IO percentiles", "").split()
        if (value := _number(row, f"{prefix}IO p{printed}")) is not None
        and (name := percentile_name(printed)) is not None
    }
    return LatencyResult(
        ios,
        round(low * 1000),
        round(high * 1000),
        mean * 1000,
        None,
        percentiles,
        bucket_width=round(QUARTER - 1, 6),
    )


def _loads(row: Row, phase: str, result: HostResult, hosts: int) -> Iterator[JobLoad]:
    """Yield the load of all hosts together, because elbencho reports it only in total."""
    threads, depth = _number(row, "threads"), _number(row, "IO depth")
    ios = tuple(name for name in result.dirs if name in ("read", "write"))
    if not threads or not ios:
        return
    workers = int(threads) * hosts
    yield JobLoad(
        name=phase.lower(),
        directions=ios,
        workers=workers,
        held=workers * int(depth or 1),
        queues=(depth or 1) > 1,
        direct=row.get("direct IO") in ("1", "true"),
        random=row.get("random") in ("1", "true"),
        durable="not in the output",
        block_bytes=int(_number(row, "block size") or 0) or None,
        whole_blocks=bool(row.get(WHOLE)),
        objects=_of_objects(row),
    )


def _of_objects(row: Row) -> bool:
    """Return whether the entries are objects rather than files."""
    return row.get(PATH_TYPE) == BUCKET


def _number(row: Row, name: str) -> float | None:
    """Return a number from a row; None if the column is empty or missing. Raises ValueError."""
    text = row.get(name, "").strip()
    value = float(text) if text else None
    if value is not None and not (isfinite(value) and value >= 0):
        raise ValueError(f"{name}: found '{text}', expected a number, 0 or more")
    return value


# -- the tables that elbencho prints, as rows of its CSV


HEADER = re.compile(r"OPERATION\s+RESULT TYPE\s+FIRST DONE\s+LAST DONE\s*")
ROW = re.compile(
    r"(?P<phase>[A-Z0-9]+)?\s+(?P<what>[A-Za-z][\w/%]*+(?: ++[\w/%]++)*+)\s*:\s+(?P<values>\S.*)"
)
STAMP = re.compile(r"ISO DATE(?: start)?\s*: (\S+)")
COMMAND = re.compile(r"COMMAND LINE: (.*)")
ELAPSED = re.compile(r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:([\d.]+)s)?(?:(\d+)ms)?")
HUMAN_US = {"us": 1.0, "ms": 1e3, "s": 1e6}
LATENCY = re.compile(r"\b(min|avg|max)=([\d.]+)(us|ms|s)\b")
COLUMNS = {"threads": "threads", "iodepth": "IO depth", "block": "block size"}  # by option
NAMES = {
    "IOPS": "IOPS", "IOPS write": "IOPS", "IOPS read": "rwmix read IOPS",
    "Total MiB": "MiB", "MiB write": "MiB", "MiB read": "rwmix read MiB",
    "IOs total": "IOs", "IOs write": "IOs", "IOs read": "rwmix read IOs",
    "Files/s": "entries/s", "Dirs/s": "entries/s", "Objects/s": "entries/s",
    "Buckets/s": "entries/s", "Buckets total": "entries",
    "Files total": "entries", "Dirs total": "entries", "Objects total": "entries",
}  # fmt: skip
PREFIXES = {"IO": "", "IO wr": "", "IO rd": "rwmix read "}


def table_rows(text: str, file: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield each phase in printed tables, as a row, with its line number."""
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
                _add_line(row, match["what"].strip(), match["values"])
    if row:
        yield line, row


def _options(command: str) -> dict[str, str]:
    """Return the load options in an elbencho command line, and the number of hosts unless it is in
    a range.
    """
    given = options(command)
    found = {COLUMNS[name]: str(size_of(given[name]) or "") for name in COLUMNS if name in given}
    found["direct IO"] = str(int("direct" in given))
    found["random"] = str(int("rand" in given))
    if LIST.fullmatch(given.get("hosts", "")):
        found["hosts"] = str(given["hosts"].count(",") + 1)
    return found


def _add_line(row: dict[str, str], what: str, values: str) -> None:
    """Add a table line to a row; if there are two columns, use the last."""
    row[what] = values
    last = values.rsplit(maxsplit=1)[-1]
    if what == "Elapsed time":
        row["time ms [last]"] = str(_milliseconds(last))
    elif what.startswith("CPU util"):
        row["CPU% [last]"] = last
    elif what in NAMES:
        if what.startswith(("Objects", "Buckets")):
            row[PATH_TYPE] = BUCKET
        row[f"{NAMES[what]} [last]"] = last
    elif what == "IO lat hist":
        counts = [int(count) for _, count in BUCKET_COUNT.findall(values)]
        row.setdefault("IOs [last]", str(sum(counts)))
    elif (
        what.endswith(" latency")
        and (prefix := PREFIXES.get(what.removesuffix(" latency"))) is not None
    ):
        for name, value, unit in LATENCY.findall(values):
            row[f"{prefix}IO lat us [{name}]"] = str(float(value) * HUMAN_US[unit])
    elif (
        what.endswith(" lat % us")
        and (prefix := PREFIXES.get(what.removesuffix(" lat % us"))) is not None
    ):
        found = dict(PERCENTILE.findall(values))
        row[f"{prefix}IO percentiles"] = " ".join(found)
        row |= {f"{prefix}IO p{name}": value for name, value in found.items()}


def _milliseconds(text: str) -> float:
    """Convert a time such as 2m3.241s, 30.140s or 586ms to milliseconds. Raises ValueError."""
    match = ELAPSED.fullmatch(text)
    if match is None or not text:
        raise ValueError(f"found '{text}', expected a time such as 2m3.241s or 586ms")
    hours, minutes, seconds, milliseconds = (float(group or 0) for group in match.groups())
    return ((hours * 60 + minutes) * 60 + seconds) * 1000 + milliseconds

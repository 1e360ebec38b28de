"""elbencho's options by long name, with their values and whether a profile may set them; its
phases.

Phases on objects are named after their S3 requests.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from tui.model.problem import did_you_mean
from tui.model.quantities import parse_duration, parse_size, plain_size, shown

Kind = Literal["flag", "count", "number", "size", "seconds", "percent", "text"]

OPTIONS: Mapping[str, Kind] = {
    # what is read and written
    "threads": "count", "dirs": "number", "files": "count", "size": "size", "block": "size",
    "iodepth": "count",
    "direct": "flag", "rand": "flag", "norandalign": "flag", "randalgo": "text",
    "randamount": "size",
    "backward": "flag", "strided": "flag", "rwmixpct": "percent", "limitread": "size",
    "limitwrite": "size",
    "infloop": "flag", "timelimit": "seconds",
    # how
    "blockvaralgo": "text", "blockvarpct": "percent", "cores": "text", "zones": "text",
    "fadv": "text",
    "flock": "text", "madv": "text", "mmap": "flag", "nofdsharing": "flag", "nodiocheck": "flag",
    "preallocfile": "flag", "trunc": "flag", "trunctosize": "flag", "verify": "number",
    "verifydirect": "flag",
    "statinline": "flag", "readinline": "flag",
    # requests of S3
    "s3fastget": "flag", "s3fastput": "flag", "s3sign": "number", "s3chksumalgo": "text",
    "s3nocompress": "flag", "s3maxconns": "count", "s3single": "flag", "s3sse": "flag",
    "s3mpusplit": "size", "s3targetgbps": "number", "s3nompcheck": "flag",
    "s3multiignore404": "flag", "s3randobj": "flag",
    # GPUs, in builds that have them
    "cufile": "flag", "gds": "flag", "gpuids": "text", "gdsbufreg": "flag", "cuhostbufreg": "flag",
}  # fmt: skip
SHORT: Mapping[str, str] = {
    "t": "threads", "n": "dirs", "N": "files", "s": "size", "b": "block", "i": "iterations",
    "c": "configfile",
    "h": "help", "w": "write", "r": "read", "d": "mkdirs", "F": "delfiles", "D": "deldirs",
}  # fmt: skip
PHASE_OPTIONS = ("mkdirs", "write", "stat", "read", "delfiles", "deldirs")
ELSEWHERE: Mapping[str, str] = {
    **dict.fromkeys(PHASE_OPTIONS, "set the measured phase with phase:"),
    **dict.fromkeys(("lat", "lathisto", "lathistogrpd", "latpercent", "latpercent9s"),
        "latencies are always recorded"),
    **dict.fromkeys(
        ("livecsv", "livecsvex", "liveint", "live1", "live1n", "nolive", "csvfile", "jsonfile",
            "resfile", "label",
         "nocsvlabels", "allelapsed", "cpu", "dirstats", "base10", "log", "svcelapsed",
         "no0usecerr"),
        "benchtui controls elbencho's output",
    ),
    **dict.fromkeys(
        ("hosts", "hostsfile", "service", "foreground", "port", "quit", "interrupt", "numhosts",
            "rotatehosts",
         "svcupint", "svcwait", "svcpwfile", "svcping", "nosvcshare", "servers", "clients",
         "serversfile",
         "clientsfile", "netbench", "netdevs", "respsize", "recvbuf", "sendbuf"),
        "benchtui runs one elbencho on each host, without the service",
    ),
    "rankoffset": "benchtui numbers the ranks of each host",
    "start": "benchtui starts all hosts at once",
    "iterations": "use repeat: in the profile",
    "dropcache": "use drop_caches: in the profile",
    "sync": "use drop_caches: in the profile, which also writes back dirty pages",
    "phasedelay": "use pause: in the profile",
    "configfile": "put its options into the profile",
    "dryrun": "use benchtui run --dry-run",
    "nopathexp": "paths are not expanded",
    "nodelerr": "the files to remove must exist",
    "opslog": "logging each I/O slows the load down",
}  # fmt: skip
STORE: Mapping[str, str] = {
    "s3endpoints": "use endpoint: and https:",
    "s3region": "use region:",
    "s3objprefix": "use prefix:",
    **dict.fromkeys(("s3key", "s3secret", "s3sessiontoken", "s3credfile", "s3credlist"),
        "benchtui never stores secrets: use key_id:, key: and token:"),
}  # fmt: skip
"""Options whose values are keys of the profile."""
REFUSED: Mapping[str, str] = {
    "s3ignoreerrors": "failed requests would count as successful",
    "s3multidel": "it deletes all objects in the bucket",
    "s3nompucompl": "incomplete uploads leave parts in the store that no run removes",
    "s3virtaddr": "benchtui addresses buckets by path: ENDPOINT/BUCKET/KEY",
    **dict.fromkeys(("s3log", "s3logprefix"), "the log contains signed headers"),
    **dict.fromkeys(("s3sseckey", "s3ssekmskey"), "benchtui never stores secrets"),
}
OF_FILES = frozenset(
    ("direct", "fadv", "flock", "madv", "mmap", "nofdsharing", "nodiocheck", "preallocfile",
     "trunc", "trunctosize", "verifydirect", "statinline", "readinline", "cufile", "gds",
     "gdsbufreg", "norandalign", "backward", "strided", "rwmixpct")
)  # fmt: skip
"""Options that apply to files only."""
UNKNOWN_FILES: Mapping[str, str] = {
    **dict.fromkeys(
        ("treefile", "treescan", "treerand", "treeroundrob", "treeroundup", "sharesize"),
        "custom trees",
    ),
    "dirsharing": "directories shared by all threads",
    "rwmixthr": "threads that only read in a write phase",
    "rwmixthrpct": "threads that only read in a write phase",
    "hdfs": "HDFS",
}
PhaseName = Literal[
    "mkdirs", "write", "stat", "read", "rmfiles", "rmdirs", "mkbuckets", "rmobjects", "rmbuckets"
]
MIXED = "RWMIX"  # start of the printed name of a phase of reads and writes


def option_problem(name: str, value: object) -> str:
    """Return why an option or its value is invalid; empty if it is valid."""
    if name in ELSEWHERE:
        return f"{name} is not allowed here: {ELSEWHERE[name]}"
    if name in UNKNOWN_FILES:
        return (
            f"{name} is not supported: the files of {UNKNOWN_FILES[name]} are unknown"
            " before the run"
        )
    if name in STORE:
        return f"{name} is not allowed here: {STORE[name]}"
    if name in REFUSED:
        return f"{name} is not supported: {REFUSED[name]}"
    if name not in OPTIONS and name.startswith("s3"):
        return f"{name} is not supported: only object and bucket phases are"
    if name not in OPTIONS:
        return f"unknown option '{name}'{did_you_mean(name, [*OPTIONS, *ELSEWHERE])}"
    try:
        value_text(name, value)
    except ValueError as error:
        return f"{name}: {error}"
    return ""


def value_text(name: str, value: object) -> str | None:
    """Return a value in elbencho's syntax: "" for a flag that is set, None for one that is not.

    Raises ValueError with the allowed values.
    """
    kind, text = OPTIONS[name], str(value).strip()
    if kind == "flag":
        return _flag(value)
    if kind == "size":
        return plain_size(parse_size(value))
    if kind == "seconds":
        return str(_seconds(value))
    if kind in ("count", "number", "percent"):
        return str(_whole(text, kind))
    if not text or not text.isprintable() or text.startswith("-"):
        raise ValueError(
            f"{shown(value)} is not allowed; expected printable text that does not start with '-'"
        )
    return text


def _flag(value: object) -> str | None:
    word = str(value).strip().lower()
    if word in ("1", "true", "yes", "on"):
        return ""
    if word in ("0", "false", "no", "off"):
        return None
    raise ValueError(f"{shown(value)} is not a flag; expected yes, no, true, false, on, off, 1, 0")


def _whole(text: str, kind: Kind) -> int:
    least, most = (1 if kind == "count" else 0), (100 if kind == "percent" else 10**12)
    if not text.isdecimal() or not least <= int(text) <= most:
        raise ValueError(
            f"{shown(text)} is not allowed; expected a whole number from {least} to {most}"
        )
    return int(text)


def _seconds(value: object) -> int:
    seconds = parse_duration(value)
    if seconds < 1 or seconds != int(seconds):
        raise ValueError(f"{shown(value)} is not allowed; expected whole seconds, 1 or more")
    return int(seconds)


class Phase(Struct, frozen=True):
    """One phase: its option, its name in elbencho's output, and its direction.

    `files`: direction of whole files or objects, counted in addition to I/Os; empty if the phase
    has no I/Os.
    """

    name: PhaseName
    option: str
    printed: str
    direction: str
    files: str = ""

    @property
    def makes_ios(self) -> bool:
        """Whether the phase has I/Os or requests that move data."""
        return bool(self.files)


def _by_name(*phases: Phase) -> dict[str, Phase]:
    return {each.name: each for each in phases}


PHASES = _by_name(
    Phase("mkdirs", "mkdirs", "MKDIRS", "mkdirs"),
    Phase("write", "write", "WRITE", "write", "write-files"),
    Phase("stat", "stat", "STAT", "stat"),
    Phase("read", "read", "READ", "read", "read-files"),
    Phase("rmfiles", "delfiles", "RMFILES", "rmfiles"),
    Phase("rmdirs", "deldirs", "RMDIRS", "rmdirs"),
)
"""All phases on files, in the order in which elbencho runs them."""

OBJECT_PHASES = _by_name(
    Phase("mkbuckets", "mkdirs", "MKBUCKETS", "mkbuckets"),
    Phase("write", "write", "WRITE", "write", "write-objects"),
    Phase("stat", "stat", "HEADOBJ", "head"),
    Phase("read", "read", "READ", "read", "read-objects"),
    Phase("rmobjects", "delfiles", "RMOBJECTS", "trim"),
    Phase("rmbuckets", "deldirs", "RMBUCKETS", "rmbuckets"),
)
"""All phases on objects. DELETE has the direction trim, as with other load generators."""

_PRINTED = {each.printed: each for each in (*OBJECT_PHASES.values(), *PHASES.values())}
_OF_OBJECTS = {**_PRINTED, **{each.printed: each for each in OBJECT_PHASES.values()}}


def phase_of(printed: str, *, objects: bool = False) -> Phase | None:
    """Return a phase by the name that elbencho prints, such as RMFILES or RWMIX70.

    WRITE and READ mean files unless `objects`. None for a phase that measures nothing.
    """
    if printed.startswith(MIXED):
        return PHASES["write"]
    return (_OF_OBJECTS if objects else _PRINTED).get(printed)

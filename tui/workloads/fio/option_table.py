"""fio's options, their values, and what each can access on a host (from fio_options.json)."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Container
from pathlib import Path
from typing import Any

from tui.model.problem import did_you_mean
from tui.model.quantities import (
    SIZE_FORMS,
    parse_duration,
    parse_size,
    plain_duration,
    plain_size,
    shown,
)

# Not allowed with any value, by fio's own name.
UNSEEN = {
    "read_iolog": "the replayed I/O and its files are unknown before the run",
    "replay_redirect": "the replayed I/O is unknown before the run",
    "merge_blktrace_file": "fio would write a file that is not in the plan",
    "profile": "fio would run its own jobs; write them under 'jobs'",
    "libblkio_path": "benchtui cannot check that device before the run; name it with 'filename'",
    "libblkio_pre_connect_props": (
        "it can name a device that benchtui does not check before the run"
    ),
    "ioscheduler": (
        "it changes the device for all users; set it on the hosts, where benchtui records it"
    ),
    "donorname": "fio would overwrite and remove a file that is not in the plan",
    "dp_scheme": "fio would read a file that is not in the plan",
    "verify_state_load": (
        "benchtui starts fio in a new directory, without the state of earlier runs"
    ),
    "allow_mounted_write": "benchtui never writes to a mounted device",
    "cgroup_nodelete": "a control group would remain on the host",
    "aux-path": "benchtui starts fio in its own directory",
    "program": "profiles cannot run commands on hosts",
    "arguments": "profiles cannot run commands on hosts",
}
SWITCHED_OFF = ("0", "false", "no")
# of these, allowed when switched off
SWITCHES = ("verify_state_load", "allow_mounted_write", "cgroup_nodelete")

PLACES = ("filename", "directory", "filename_format", "opendir")
TARGETS: dict[str, tuple[str, ...]] = {
    "rbd": ("rbdname",),
    "nbd": ("uri",),
    "rados": ("pool",),
    "gfapi": ("volume",),
    "gfapi_async": ("volume",),
    "libhdfs": ("hdfsdirectory",),
    "http": ("filename", "filename_format"),
    "nfs": ("nfs_url",),
    "dfs": ("cont",),
    "libiscsi": ("filename",),
}
"""Engines whose data is outside the host's file systems, and the options that name its location."""
ACCESS = (
    "pool", "svcl", "object_class", "brick", "http_host", "http_user", "http_pass", "http_s3_key",
    "http_s3_keyid",
    "http_s3_security_token", "http_swift_auth_token", "http_s3_region", "http_s3_sse_customer_key",
    "http_s3_sse_customer_algorithm", "http_s3_storage_class", "libblkio_driver",
    "libblkio_pre_start_props",
    "gpu_dev_ids", "namenode", "hostname", "initiator", "interface", "clustername", "clientname",
    "conf",
    "rbd_encryption_format", "rbd_encryption_passphrase", "bindname", "xnvme_be", "xnvme_mem",
    "xnvme_async",
    "xnvme_sync", "xnvme_admin", "xnvme_dev_subnqn",
)  # fmt: skip
SECRETS = (
    "http_pass",
    "http_s3_key",
    "http_s3_security_token",
    "http_s3_sse_customer_key",
    "http_swift_auth_token",
)
OWN = ("write_iolog", "write_bw_log", "write_lat_log", "write_iops_log", "write_hist_log", "cgroup",
    "verify_dump",
       "verify_state_save")  # fmt: skip
# options that name the image of an engine loaded from a file
IN_A_FILE = ("image", "rbdname", "uri", "filename")

UNSEEN_ENGINES = {
    "exec": "profiles cannot run commands on hosts",
    "pmemblk": (
        "the file name contains more than a path, so benchtui cannot check the file before the run"
    ),
    "libblkio": "benchtui cannot check the device before the run",
}
_PATTERNS = ("verify_pattern", "buffer_pattern")


def target_problem(
    engine: str, *, external: bool, writes: bool, names: Container[str]
) -> str | None:
    """Return why a job outside the host's file systems is refused: no option names the target. None
    if it is allowed.
    """
    named_by = IN_A_FILE if external else TARGETS.get(engine, ())
    if not writes or not named_by or any(name in names for name in named_by):
        return None
    return f"{engine} requires {' or '.join(named_by)}, to name what it overwrites"


def reach_problem(name: str, text: str) -> str | None:
    """Return why an option accesses something that the safety rules cannot see, or None."""
    if (reason := UNSEEN.get(name)) and not (name in SWITCHES and text in SWITCHED_OFF):
        return f"found {shown(text)}; it is not allowed: {reason}"
    if name == "ioengine" and (reason := UNSEEN_ENGINES.get(text)):
        return f"found '{text}': {reason}"
    if name in _PATTERNS and "'" in text:
        return (
            f"found {shown(text)}; a pattern from a file is not allowed: fio would read a"
            " file that is not in the plan"
        )
    if is_log(name) and ("/" in text or "$" in text):
        return (
            f"found {shown(text)}; expected a log name without a path: fio would overwrite that"
            " file"
        )
    if name in ("iomem", "mem") and text.startswith("mmap") and ":" in text:
        return (
            f"found {shown(text)}; memory from a file is not allowed: fio would overwrite that file"
        )
    if name == "cgroup" and ".." in text.split("/"):
        return f"found {shown(text)}; '..' is not allowed in a control group name"
    return None


def is_log(name: str) -> bool:
    """Return whether an option names a log file that fio writes."""
    return name.startswith("write_") and name.endswith("log")


WORDS = ("0", "1")
WORDED = ("bool", "set", "choice")  # types of options that take words, no numbers

# Never in a profile, by fio's own name.
OWN_OPTIONS = {
    "output": "benchtui collects the output",
    "output-format": "benchtui reads json+",
    "status-interval": "benchtui requests a status every second",
    "eta": "benchtui shows the progress",
    "client": "benchtui starts fio on the hosts itself",
    "server": "benchtui starts fio on the hosts itself",
    "max-jobs": "benchtui computes it",
    "percentile_list": "benchtui records a fixed list of percentiles",
    "stonewall": "one fio process runs one step; write one profile per step",
    "wait_for": "one fio process runs one step; write one profile per step",
    "exec_prerun": "profiles cannot run commands on hosts",
    "exec_postrun": "profiles cannot run commands on hosts",
    "name": "the key under 'jobs' is the job name",
    "include": "a profile is a single file",
}
# Allowed with this value alone.
FIXED_VALUES = {
    "group_reporting": ("1", "benchtui always reports by group"),
    "stats": ("1", "0 would disable figures that benchtui records"),
    "gtod_reduce": ("0", "1 would disable latencies that benchtui records"),
    "disable_lat": ("0", "1 would disable latencies that benchtui records"),
    "disable_clat": ("0", "1 would disable latencies that benchtui records"),
    "clat_percentiles": ("1", "0 would disable latencies that benchtui records"),
    "lat_percentiles": ("1", "0 would disable latencies that benchtui records"),
    "kb_base": ("1024", "sizes in profiles are powers of 1024"),
    "create_only": ("0", "1 measures nothing; to lay out files, use 'prepare: {layout: true}'"),
}
# Limits that fio does not check, or checks only when the job runs.
LIMITS: dict[str, dict[str, int]] = {
    "numjobs": {"min": 1},
    "nrfiles": {"min": 1},
    "rwmixread": {"min": 0, "max": 100},
    "rwmixwrite": {"min": 0, "max": 100},
    "percentage_random": {"min": 0, "max": 100},
}
RANGES = ("filesize", "bsrange", "startdelay")
_FIO_SIZE = re.compile(r"\d+([kmgtp]b?|b)?", re.IGNORECASE | re.ASCII)
_FIO_TIME = re.compile(r"\d+(us|usec|ms|msec|s|m|h|d)?", re.IGNORECASE | re.ASCII)
_TIME_FORMS = "numbers with us, ms, s, m, h or d, such as 300s, 250ms"
_UNPRINTED = re.compile(r"[\x00-\x1f\x7f]")


@functools.cache
def table() -> dict[str, Any]:
    """Return the table: `options` and `engine_options` by name (type, values, min, max, alias),
    `engines`.
    """
    text = Path(__file__).with_name("fio_options.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    for name, limits in LIMITS.items():
        found["options"][name] |= limits
    return found


@functools.cache
def by_name() -> dict[str, dict[str, Any]]:
    """Return every option by name and alias; common options win over an engine's."""
    found: dict[str, dict[str, Any]] = {}
    for options in (table()["engine_options"], table()["options"]):
        for name, option in options.items():
            found[name] = option
            if alias := option.get("alias"):
                found[alias] = option
    return found


@functools.cache
def canonical_names() -> dict[str, str]:
    """Return fio's own name by alias or name."""
    found: dict[str, str] = {}
    for options in (table()["engine_options"], table()["options"]):
        for name, option in options.items():
            found[name] = name
            if alias := option.get("alias"):
                found[alias] = name
    return found


def is_external(engine: str) -> bool:
    """Return whether an ioengine is loaded from a file, so that its options are unknown."""
    return engine.startswith(("external:", "/")) or engine.endswith(".so")


def canonical(name: str) -> str:
    """Return fio's own name of an option given by name or alias; unknown names are returned
    unchanged.
    """
    return canonical_names().get(name, name)


def name_problem(name: str, *, external: bool = False) -> str | None:
    """Return why an option is not allowed in a profile, or None."""
    if reason := OWN_OPTIONS.get(canonical(name)):
        return f"'{name}' is not allowed in a profile: {reason}"
    if name.startswith("-"):
        return f"unknown fio option '{name}': write options without dashes, as in a job file"
    option = by_name().get(name)
    if option is None:
        return None if external else f"unknown fio option '{name}'{did_you_mean(name, by_name())}"
    return f"'{name}' was removed from fio" if option["type"] == "removed" else None


def option_problem(name: str, text: str) -> str | None:
    """Return why fio would reject or misread a value; None if no reason is known.

    `text` has no placeholders.
    """
    if _UNPRINTED.search(text):
        return "a value must be one line"
    if not text.isprintable():
        return f"found {shown(text)}; a value must be printable text"
    if "#" in text or ";" in text:
        return f"found {shown(text)}; fio ignores everything after '#' or ';'"
    if found := reach_problem(canonical(name), text):
        return found
    if name == "ioengine":
        return engine_problem(text)
    wanted, reason = FIXED_VALUES.get(canonical(name), ("", ""))
    if wanted and (text or "1") != wanted:
        return f"found {shown(text or '1')}; allowed: {wanted}: {reason}"
    option = by_name().get(name)
    if option is None:
        return None
    calculated = text.startswith("(") and option["type"] not in WORDED  # "(4*1024)": fio calculates
    check = None if calculated else CHECKS.get(option["type"])
    ranged = canonical(name) in RANGES and "-" in text
    parts = text.split("-", 1) if ranged else [text]
    return next((found for part in parts if check and (found := check(option, part))), None)


def engine_problem(text: str) -> str | None:
    """Return why an ioengine is invalid; None if it is valid."""
    engines = table()["engines"]
    if text in engines or is_external(text):
        return None
    return (
        f"unknown ioengine '{text}'{did_you_mean(text, engines)}; for an external engine,"
        " give its path"
    )


def _bool_problem(_option: dict[str, Any], text: str) -> str | None:
    return None if text in WORDS else f"found {shown(text)}; allowed: 0 and 1, or true and false"


def _set_problem(_option: dict[str, Any], text: str) -> str | None:
    return None if text in ("", *WORDS) else f"found {shown(text)}; allowed: 0 and 1, or no value"


def _choice_problem(option: dict[str, Any], text: str) -> str | None:
    values = option.get("values")
    first = re.split("[:,]", text)[0]  # e.g. rw=randread:8, random_distribution=zipf:1.2
    if not values or first in values:
        return None
    return f"found {shown(text)}{did_you_mean(first, values)}; allowed: {', '.join(values)}"


def _int_problem(option: dict[str, Any], text: str) -> str | None:
    """Return why an integer is invalid; None if it is valid.

    Size suffixes and up to three values by direction (bs=4k,8k) are allowed.
    """
    parts = text.split(",") if option.get("parts") else [text]
    for part in parts:
        if part == "" and len(parts) > 1:
            continue
        try:
            number = _whole(part)
        except ValueError:
            return (
                f"found {shown(text)}; allowed: a whole number, optionally with k, m or g"
                " (powers of 1024)"
            )
        if misread := _misread_size(part):
            return misread
        if found := _limit_problem(option, text, number):
            return found
    return None


def _whole(text: str) -> int:
    text = text.strip().lower()
    if text.startswith("0x"):
        return int(text, 16)
    return -parse_size(text[1:]) if text.startswith("-") else parse_size(text)


def _limit_problem(option: dict[str, Any], text: str, number: float) -> str | None:
    low, high = option.get("min"), option.get("max")
    if low is not None and number < low:
        return f"found {shown(text)}; the smallest allowed value is {low}"
    if high is not None and number > high:
        return f"found {shown(text)}; the largest allowed value is {high}"
    return None


def _size_problem(option: dict[str, Any], text: str) -> str | None:
    for part in text.split(",") if option.get("parts") else [text]:
        try:
            size = parse_size(part)
        except ValueError:
            return f"found {shown(text)}; allowed: {SIZE_FORMS}"
        if found := _misread_size(part) or _limit_problem(option, text, size):
            return found
    return None


def _misread_size(text: str) -> str | None:
    """Return why fio misreads a size, such as 4KiB as 4000 or 1.5g as 1 (parse.c, get_mult_bytes);
    None if it does not.
    """
    if text.startswith(("-", "0x", "0X")) or _FIO_SIZE.fullmatch(text):
        return None
    return f"found {shown(text)}, which fio misreads; write {plain_size(parse_size(text))}"


def _range_problem(option: dict[str, Any], text: str) -> str | None:
    """Return why a range end, or one of up to three ranges by direction, is invalid; None if
    valid.
    """
    return next(
        (found for part in re.split("[-,:]", text) if (found := _size_problem(option, part))), None
    )


def _zone_problem(option: dict[str, Any], text: str) -> str | None:
    return None if text[-1:] in ("z", "%") and text[:-1].isdigit() else _size_problem(option, text)


def _time_problem(_option: dict[str, Any], text: str) -> str | None:
    """Return why fio misreads a time, such as 1h30m or 5min as microseconds (parse.c,
    get_mult_time); None if it does not.
    """
    try:
        seconds = parse_duration(text)
    except ValueError:
        return f"found {shown(text)}; allowed: {_TIME_FORMS}"
    right = _FIO_TIME.fullmatch(text)
    return (
        None
        if right
        else f"found {shown(text)}, which fio misreads; write {plain_duration(seconds)}"
    )


def _floats_problem(option: dict[str, Any], text: str) -> str | None:
    for part in text.split(":"):
        try:
            number = float(part)
        except ValueError:
            return f"found {shown(text)}; allowed: numbers separated by ':'"
        if found := _limit_problem(option, text, number):
            return found
    return None


CHECKS = {
    "bool": _bool_problem,
    "set": _set_problem,
    "choice": _choice_problem,
    "int": _int_problem,
    "size": _size_problem,
    "zone": _zone_problem,
    "range": _range_problem,
    "time": _time_problem,
    "floats": _floats_problem,
}

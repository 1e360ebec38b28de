"""A fio job without a profile: ``rw=randread bs=4k,64k numjobs=8 iodepth=16
directory=/mnt/weka``; its pattern and mix in words: ``random read``, ``70/30``, ``30% write
sequential``.

A part of a pattern is the normal form of one such word: aspects (``random``, ``random read``,
``mixed``), a list of them with commas, or the percentage of reads (``70%``).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import product
from typing import Any

from tui.model.plain import NAME_PATTERN
from tui.model.problem import UsageError
from tui.model.quantities import parse_size
from tui.workloads.base import FromTerms
from tui.workloads.fio.blocks import block_problem
from tui.workloads.fio.engine_kinds import FILELESS_ENGINES, SYNC_ENGINES
from tui.workloads.fio.option_table import by_name, canonical, name_problem, option_problem
from tui.workloads.fio.options import DIRECTIONS, OF_THE_TARGET, JobOptions
from tui.workloads.terms import GivenTerms, JobTerm, TermJob, TermParam, fits, unknown_term

PATTERNS = ("randread", "randwrite", "randrw", "read", "write", "rw")
ENGINES = ("libaio", "io_uring", "posixaio", "psync")
TERMS = (
    JobTerm("rw", "text", "randread", "randread, randwrite, randrw, read, write, rw", "pattern",
        PATTERNS),
    JobTerm("rwmixread", "number", "", "Percentage of reads if rw is randrw or rw; default 70",
        "mix, % reads"),
    JobTerm("bs", "size", "", "Default: 4k if random, 1M if sequential",
        "block size", words=("block", "blocks", "I/O size"), plain=True),
    JobTerm("numjobs", "count", "8", "Jobs on each host, each with its own file", "jobs",
        words=("x#", "# x", "job", "threads", "thread", "workers", "processes", "t#", "j#")),
    JobTerm("iodepth", "count", "16", "I/Os in flight per job; 1 with psync",
        "queue depth", words=("qd#", "qd", "depth", "q#")),
    JobTerm("ioengine", "text", "", "psync for a queue depth of 1, otherwise libaio", "engine",
        ENGINES, means=(("uring", "io_uring"),)),
    JobTerm("size", "size", "1G", "Size of each job's file", "file size",
        words=("file", "files")),
    JobTerm("runtime", "duration", "30s", "Measured time of each step", "runtime",
        words=("for #", "time", "duration"), plain=True),
    JobTerm("ramp_time", "duration", "5s", "Load before the measured time; 0: none", "ramp",
        words=("ramp up", "warm up")),
    JobTerm("direct", "flag", "yes", "yes or no: bypass the page cache (O_DIRECT)", "direct I/O",
        ("yes", "no"), means=(("direct", "yes"), ("O_DIRECT", "yes"), ("direct I/O", "yes"),
        ("unbuffered", "yes"), ("buffered", "no"))),
    JobTerm("directory", "directory", "", "Where the hosts write the test files", "directory",
        words=("dir", "path", "target"), plain=True),
    JobTerm("filename", "path", "", "File or block device, instead of a directory",
        "file, device", words=("file", "device", "disk", "drive", "target"), plain=True),
)  # fmt: skip
BY_NAME = {term.name: term for term in TERMS}
STRUCTURAL = ("rw", "ioengine")  # they decide which other options there are and which figure counts
BIG_BLOCK = 128 * 1024  # minimum size for which the headline is bandwidth
MIXED = ("rw", "readwrite", "randrw")


def _names() -> list[str]:
    return [name for name in by_name() if name_problem(name) is None]


def _checked(given: GivenTerms) -> dict[str, Sequence[str]]:
    """Return values by fio's own name.

    Raises UsageError for an unknown option or a value that fio rejects.
    """
    found: dict[str, Sequence[str]] = {}
    for name, values in given.items():
        if problem := name_problem(name):
            if name not in by_name():
                raise unknown_term("fio", name, _names(), TERMS)
            raise UsageError(f"fio: {problem}")
        own = canonical(name)
        if own in found:
            raise UsageError(f"fio: '{name}' and '{own}' are the same fio option; use one of them")
        for value in values:
            option = _as_option(own, value)
            if by_name()[own]["type"] == "bool" and option not in ("0", "1"):
                raise UsageError(f"fio: {name}={value}: expected yes or no")
            if wrong := option_problem(name, option) or _path_problem(own, value):
                raise UsageError(f"fio: {name}={value}: {wrong}")
        found[own] = values
    return found


def _path_problem(name: str, value: str) -> str | None:
    """Return why a path is not an engine: a directory typed in the wrong field must not become an
    engine.
    """
    if name != "ioengine" or not value.startswith("/") or value.endswith((".so", ".o")):
        return None
    return f"found a path; for an external engine, write external:{value}"


def _as_option(name: str, value: str) -> str:
    """Return a value in fio's syntax, with flags as 1 and 0."""
    words = {"yes": "1", "true": "1", "on": "1", "no": "0", "false": "0", "off": "0"}
    return words.get(value.lower(), value) if by_name()[name]["type"] in ("bool", "set") else value


def _defaults(given: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """Return the defaults that suit the given terms, in table order."""
    values: dict[str, Sequence[str]] = {
        term.name: (term.default,) for term in TERMS if term.default
    }
    if set(given.get("ioengine", ("libaio",))) <= SYNC_ENGINES:
        values["iodepth"] = ("1",)
    patterns, depths = given.get("rw", values["rw"]), given.get("iodepth", values["iodepth"])
    values["bs"] = ("4k",) if any(each.startswith("rand") for each in patterns) else ("1M",)
    values["ioengine"] = ("psync",) if set(depths) == {"1"} else ("libaio",)
    if any(each.partition(":")[0] in MIXED for each in patterns):
        values["rwmixread"] = ("70",)
    if _sizes(given) != "bs":
        del values["bs"]
    if "filename" in given:
        del values["size"]
    if given.get("ramp_time") == ("0",):
        del values["ramp_time"]
    return {term.name: values[term.name] for term in TERMS if term.name in values}


def _sizes(values: Mapping[str, Sequence[str]]) -> str:
    """Return the option that sets the I/O size; mixed sizes (bssplit, bsrange) override `bs`."""
    return next((name for name in ("bssplit", "bsrange") if name in values), "bs")


def _check_target(values: Mapping[str, Sequence[str]]) -> None:
    """Raise UsageError if the job has no target: no default suits all storage."""
    places = [name for name in ("directory", "filename") if name in values]
    fileless = set(values["ioengine"]) <= FILELESS_ENGINES
    if len(places) != 1 and not fileless:
        none = "no target: set directory=/mnt/... or filename=/dev/..."
        raise UsageError(f"fio: {'set only one of directory and filename' if places else none}")
    for name in places:
        for value in values[name]:
            if not fits("path", [value]):
                raise UsageError(
                    f"fio: {name}={value}: expected an absolute path on the hosts, without # ; $"
                    " ` \\"
                )


def _check_blocks(values: Mapping[str, Sequence[str]]) -> None:
    """Raise UsageError for I/O sizes that direct I/O cannot do."""
    sizes = _sizes(values)
    others = {
        name: values[name]
        for name in ("ioengine", "direct", "buffered", "kb_base", "filename")
        if name in values
    }
    for size, *rest in product(values[sizes], *others.values()):
        set_to = {name: _as_option(name, text) for name, text in zip(others, rest, strict=True)}
        if found := block_problem(JobOptions("", {}, {sizes: size} | set_to)):
            raise UsageError(f"fio: {sizes}={','.join(values[sizes])}: {found[1]}")


def _is_param(name: str, values: Sequence[str]) -> bool:
    """Return whether a term can be a parameter, changed at launch, because nothing else depends on
    it.
    """
    return bool(re.match(NAME_PATTERN, name)) and (name not in STRUCTURAL or len(values) > 1)


def _param(name: str, values: Sequence[str]) -> TermParam:
    """Return a term as a parameter, of kind text if fio accepts more than the term's own kind."""
    term = BY_NAME.get(name)
    if term is None:
        return TermParam("text", values, f"fio option {name}")
    kind = "device" if name == "filename" and fits("device", values) else term.kind
    return TermParam(kind if fits(kind, values) else "text", values, term.help)


def _directions(values: Mapping[str, Sequence[str]]) -> set[str]:
    return {
        each for mode in values["rw"] for each in DIRECTIONS.get(mode.partition(":")[0].lower(), ())
    }


def _more(values: Mapping[str, Sequence[str]], params: Mapping[str, TermParam]) -> dict[str, Any]:
    directions = _directions(values)
    big = all(_bytes(each) >= BIG_BLOCK for each in values[_sizes(values)])
    direction = directions.pop() if len(directions) == 1 else "mixed"
    device = any(param.kind == "device" for param in params.values())
    sized = not any(each.endswith(OF_THE_TARGET) for each in values.get("size", ()))
    files = "directory" in values and sized
    cached = any(_as_option("direct", each) == "0" for each in values["direct"])
    return {
        **({"allow_device": True} if device else {}),
        **({"prepare": {"layout": True, "cleanup": True}} if files else {}),
        **({"drop_caches": "try"} if cached else {}),
        "headline": {"metric": "bandwidth" if big else "iops", "direction": direction},
    }


def _bytes(text: str) -> int:
    try:
        return parse_size(text)
    except ValueError:
        return 0


def _title(values: Mapping[str, Sequence[str]]) -> str:
    """Return the load described in fio's own option values."""
    shown = ("rw", _sizes(values), "numjobs", "iodepth")
    return " ".join(f"{name}={','.join(values[name])}" for name in shown)


ASPECTS = {
    "random": ("random", "rand", "rnd"),
    "sequential": ("sequential", "seq", "linear"),
    "read": ("read", "reads"),
    "write": ("write", "writes"),
    "trim": ("trim", "trims"),
    "mixed": ("mixed", "mix", "read/write", "reads/writes", "r/w"),
}
ACCESSES = ("random", "sequential")
NORMAL = {word: aspect for aspect, words in ASPECTS.items() for word in words}
SHORT = {
    "rr": "random read", "sr": "sequential read", "sw": "sequential write",
    "randrw": "random mixed", "rw": "rw", "readwrite": "rw",
}  # fmt: skip
"""Abbreviations. ``rw`` is fio's sequential mix, unless ``random`` is given too."""
_TWO = re.compile(
    rf"({'|'.join(word for each in ACCESSES for word in ASPECTS[each])})[-_]?([a-z/]+)"
)
_RATIO = re.compile(r"(\d{1,3})[%r]?[/:]?(\d{1,3})[%w]?")
_SHARE = re.compile(r"(\d{1,3}) ?% ?([a-z]+)|([a-z]+) ?(\d{1,3}) ?%")
NAMES = {
    ("random", "read"): "randread", ("random", "write"): "randwrite",
    ("random", "mixed"): "randrw", ("random", "trim"): "randtrim",
    ("sequential", "read"): "read", ("sequential", "write"): "write",
    ("sequential", "mixed"): "rw", ("sequential", "trim"): "trim",
}  # fmt: skip
SAID = {name: f"{access} {direction}" for (access, direction), name in NAMES.items()}


def _single(text: str) -> str:
    if found := SHORT.get(text) or NORMAL.get(text):
        return found
    if text in DIRECTIONS and text not in NAMES.values():
        return f"={text}"
    if two := _TWO.fullmatch(text):
        direction = SHORT.get(two[2]) or NORMAL.get(two[2], "")
        return {"rw": f"{NORMAL[two[1]]} mixed"}.get(direction) or (
            f"{NORMAL[two[1]]} {direction}" if (NORMAL[two[1]], direction) in NAMES else ""
        )
    if (ratio := _RATIO.fullmatch(text)) and re.search(r"[/:r]", text):
        return f"{int(ratio[1])}%" if int(ratio[1]) + int(ratio[2]) == 100 else ""
    return _share(text)


def _share(text: str) -> str:
    """Return the normal form of a percentage such as ``70% read``; empty for other text."""
    if (found := _SHARE.fullmatch(text)) is None:
        return ""
    percent, of = int(found[1] or found[4]), NORMAL.get(found[2] or found[3], "")
    if percent > 100:
        return ""
    if of in ACCESSES:
        one, other = ACCESSES if of == "random" else ACCESSES[::-1]
        return {100: one, 0: other}.get(percent, "")
    return {"read": f"{percent}%", "write": f"{100 - percent}%"}.get(of, "")


def _pattern(parts: Collection[str], *, mixed: bool) -> str:
    """Return fio's name of a pattern; empty for a contradiction. `mixed`: the job sets a mix."""
    own = [each.removeprefix("=") for each in parts if each.startswith("=")]
    if own:
        return own[0] if len(parts) == 1 and not mixed else ""
    aspects = {aspect for each in parts for aspect in each.split()}
    accesses = aspects & set(ACCESSES)
    directions = aspects - accesses
    whole = {each for each in parts if " " in each}
    if len(accesses) > 1 or (len(directions) > 1 and whole):
        return ""
    # a direction alone is fio's own name, so sequential; a mix in words is random by default
    access = next(iter(accesses), "sequential" if directions - {"mixed"} else "random")
    directions = {"mixed"} if "rw" in directions else directions
    if {"read", "write"} <= directions:
        directions -= {"read", "write"}
        directions |= {"mixed"}
        access = access if accesses else "random"
    if mixed:
        directions |= {"mixed"}
    if not directions:
        directions = {"read"}
    return NAMES.get((access, next(iter(directions))), "") if len(directions) == 1 else ""


class FioTerms(FromTerms):
    """Builds jobs from fio options given as terms."""

    def job_terms(self) -> Sequence[JobTerm]:
        """Return the options in the Job form."""
        return TERMS

    def term_names(self) -> Sequence[str]:
        """Return every fio option that a profile may set."""
        return _names()

    def job_of_terms(self, given: GivenTerms) -> TermJob:
        """Return the job for these terms. Raises UsageError."""
        checked = _checked(given)
        values = {**_defaults(checked), **checked}
        _check_target(values)
        _check_blocks(values)
        params = {
            name: _param(name, each) for name, each in values.items() if _is_param(name, each)
        }
        options = {
            name: f"{{{name}}}" if name in params else each[0] for name, each in values.items()
        }
        own = {
            name: options.pop(name)
            for name in ("rw", "rwmixread", "bs", "numjobs")
            if name in options
        }
        place = (
            {"filename_format": "benchtui.{host}.$jobnum.$filenum"} if "directory" in values else {}
        )
        body = {"global": {**options, **place, "time_based": 1}, "jobs": {"job": own}}
        sizes = _sizes(values)
        words = [*values["rw"], *(values["bs"] if sizes == "bs" else [sizes])]
        fixed = {name: values[name][0] for name in values if name not in params}
        return TermJob("-".join(words), _title(values), params, body, _more(values, params), fixed)

    def part_of(self, words: str) -> str:
        """Return the normal form of words about pattern or mix; empty for other words."""
        text = words.lower().strip()
        parts = [_single(each) for each in text.split(",")]
        if not all(parts):
            return ""
        shares = [each for each in parts if each.endswith("%")]
        if len(parts) == 1:
            return {"100%": "read", "0%": "write"}.get(parts[0], parts[0])
        return ",".join(parts) if len(shares) in (0, len(parts)) else ""

    def terms_of_parts(self, parts: Sequence[str]) -> Mapping[str, str]:
        """Return the ``rw`` and ``rwmixread`` that these parts mean; empty for a contradiction."""
        shares = {each.replace("%", "") for each in parts if each.endswith("%")}
        lists = {each for each in parts if "," in each and not each.endswith("%")}
        singles = {each for each in parts if "," not in each and not each.endswith("%")}
        if len(shares) > 1 or len(lists) > 1:
            return {}
        listed = [each.split(",") for each in lists]
        found = [
            _pattern({*singles, each} - {""}, mixed=bool(shares and not listed))
            for each in (listed[0] if listed else [""])
        ]
        if not all(found) or (shares and not any(name in ("rw", "randrw") for name in found)):
            return {}
        return {"rw": ",".join(found)} | ({"rwmixread": shares.pop()} if shares else {})

    def words_of_parts(self, terms: Mapping[str, str]) -> Mapping[str, Sequence[str]]:
        """Return words for ``rw`` and ``rwmixread``."""
        pattern, mix = terms.get("rw", ""), terms.get("rwmixread", "")
        if not pattern:
            return {}
        said = SAID.get(pattern)
        if said and said.endswith("mixed") and mix:
            ratios = [f"{each}/{100 - int(each)}" for each in mix.split(",") if each.isdecimal()]
            return {f"{','.join(ratios)} {said.partition(' ')[0]}": ("rw", "rwmixread")}
        return {said or pattern: ("rw",)}

"""Texts about the data under load: files, contents, caches, the command that accesses them."""

from __future__ import annotations

from collections.abc import Sequence

from tui.metrics import units
from tui.model.shared_files import more, other_names_text, sharing_text
from tui.text.form import Text
from tui.text.names import names_of


def no(quotes: Sequence[tuple[str, str]]) -> str:
    """Return the conditions that do not hold."""
    return f"answered no: {'; '.join(f'{question} ({name})' for question, name in quotes)}"


def other_names(names: Sequence[tuple[str, str]], files: int) -> str:
    """Return a text that says which files have several names."""
    return other_names_text(names) + more(files)


def same_path(verb: str, path: str, files: int, hosts: Sequence[str]) -> str:
    """Return a text that says which files several hosts use."""
    return sharing_text(verb, path, files, hosts, "a shared file system")


def preloaded(libraries: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Return which libraries are preloaded on which hosts."""
    named = names_of([f"{', '.join(names)} on {host}" for host, names in libraries])
    return f"the load runs with preloaded libraries, which can change what it does: {named}"


def replaced(libraries: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Return which libraries are used in place of the system's on which hosts."""
    named = names_of([f"{', '.join(paths)} on {host}" for host, paths in libraries])
    return f"the load maps libraries in place of the system's: {named}"


def _fits(where: str) -> Text:
    def text(
        share: float,
        hot_bytes: int,
        whole_bytes: int,
        skew: str,
        times: float,
        memory_bytes: float | None = None,
    ) -> str:
        asked = f"{units.share(share)} of the I/Os go to {units.size(hot_bytes)} of"
        asked = f"{asked} {units.size(whole_bytes)}{f' ({skew})' if skew else ''}"
        size = f" ({units.size(memory_bytes)})" if memory_bytes else ""
        return f"{asked}, {times:.0f} per touched block: the hot blocks fit in {where}{size}"

    return text


FILES = "{files_bytes:size} of files, {memory_bytes:size} of memory"
DATA: dict[str, dict[str, Text]] = {
    "precondition": {
        "skipped": "measured without the profile's preconditioning: skipped at launch",
        "too-few": (
            "steady state unknown after {rounds:rounds}: too few for a window of {window:rounds}"
        ),
        "too-few-planned": (
            "steady state unknown: only {rounds:rounds} planned, too few for a window of"
            " {window:rounds}"
        ),
        "not-steady": (
            "not steady after {rounds} rounds: range {range:share1} (max {most_range:share}),"
            " slope {slope:share1} (max {most_slope:share})"
        ),
    },
    "attest": {"no": no, "not-attested": "not attested: {conditions:all}"},
    "unwritten-data": {
        "unwritten": "only {written:share} of {path} on {host} was written before it was read"
    },
    "working-set": {
        "page-cache": "no direct I/O: {held}: the page cache may serve the I/O",
        "of-jobs": "no direct I/O by {jobs:jobs}: {held}: the page cache may serve the I/O",
        "may-cache": "{held}; the file system may cache direct I/O",
        "files": FILES,
        "hot": f"{{share:share}} of the I/Os ({{skew}}) go to {FILES}",
    },
    "page-cache": {
        "not-dropped": "the page cache was not dropped: {hosts:colon}",
        "why": "{quote}",
        "unknown": "not dropped",
    },
    "shared-files": {"other-names": other_names, "same-path": same_path},
    "same-offsets": {
        "same-seeds": (
            "every host accesses the same random offsets of shared files: a cache can serve all"
            " hosts but the first"
        ),
        "in-order": (
            "{workers} workers of job {job} {verb} the same blocks of one file in the same order: a"
            " cache can serve all but the first"
        ),
    },
    "no-storage": {"engine": "the load does no I/O to any storage: {options:all}"},
    "random-share": {"ordered": "only {share:share} of the I/Os go to a random block: {options}"},
    "reducible-data": {"options": "the data written is reducible: {options:all}"},
    "content": {
        "reducible": "the data {kind} is reducible: {hosts:merged}",
        "similar": "blocks of the data {kind} resemble each other: {hosts:merged}",
        "row": "only {share:share} of the 16-byte pieces in 1 MiB of contiguous data are distinct",
        "apart": "only {share:share} of the 16-byte pieces in {blocks} sampled blocks are distinct",
        "zeros": "{zeros} of {blocks} blocks are zeros",
        "alike": "{blocks} blocks have {distinct} different contents",
        "gzip": "gzip leaves {left:share} of a block",
    },
    "planned-command": {
        "elsewhere": (
            "the load has other files open than the test files on {hosts:names}: {paths:all}"
            " (planned: {planned})"
        ),
        "other-job": "the job file of the load is not the planned one on {hosts:names}",
        "other": (
            "the load's arguments differ from the plan on {hosts:names}: {ran} (planned: {planned})"
        ),
        "changing": (
            "arguments that change the load were added on {hosts:names}: {words} (planned:"
            " {planned})"
        ),
        "more": (
            "the load ran with more arguments than planned on {hosts:names}: {ran} (planned:"
            " {planned})"
        ),
        "touched": (
            "the job file was changed on {hosts:names} after it was sent, then restored: the load"
            " may have read the changed one"
        ),
        "replaced": replaced,
        "other-program": (
            "{ran} did the I/O on {hosts:names}; the file checked before the run, {checked}, only"
            " starts it"
        ),
        "preloaded": preloaded,
    },
    "hot-set": {
        "drive": _fits("the buffer of a single drive"),
        "servers": _fits("the servers' memory"),
        "controller": _fits("the cache of a typical controller"),
    },
}

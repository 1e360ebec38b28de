"""Detect fio I/O engines that a host cannot use: module not installed, or blocked by the kernel.

A missing engine fails the job with "engine NAME not loadable"; `fio --enghelp=NAME` only loads it.
io_uring is built in but may be blocked by the kernel (kernel.io_uring_disabled, seccomp), which a
single read shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tui.workloads.base import Requirement

ALWAYS_THERE = ("sync", "psync", "vsync", "null")
ONE_READ = ("io_uring", "libaio", "posixaio")
HTTP_SOURCE = (
    "package fio-engine-http on Fedora and RHEL; elsewhere build fio with the libcurl and OpenSSL"
    " development headers, or copy such a build with --with DIR"
)
NO_OPTIONS = "has no options"  # printed for an engine that loads, with exit code 1
ENGINE = re.compile(r"^\s*ioengine\s*=\s*(\S+)", re.MULTILINE)


def engines_of(job_files: Iterable[str]) -> list[str]:
    """Return the engines in job files that a host may lack, without duplicates."""
    found = dict.fromkeys(
        name for text in dict.fromkeys(job_files) for name in ENGINE.findall(text)
    )
    return [name for name in found if name not in ALWAYS_THERE]


def trial_of(engine: str) -> tuple[str, ...]:
    """Return the fio arguments that test an engine, without touching any target."""
    if engine not in ONE_READ:  # --enghelp takes the path of an engine in a file without external:
        return (f"--enghelp={engine.removeprefix('external:')}",)
    job = (
        "--name=trial",
        f"--ioengine={engine}",
        "--rw=read",
        "--bs=4k",
        "--size=4k",
        "--filename=/dev/zero",
    )
    return ("--max-jobs=1", "--output-format=terse", *job)


def requirement(engine: str) -> Requirement:
    """Return the requirement that a host's fio can load an engine."""
    source = HTTP_SOURCE if engine == "http" else ""
    return Requirement(
        "fio",
        trial_args=trial_of(engine),
        trial_of=f"ioengine {engine}",
        trial_fine=NO_OPTIONS,
        source=source,
    )

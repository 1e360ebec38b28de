"""Plan the step that runs IOR over all hosts. Pure."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from tui.metrics import units
from tui.model.operands import Clause, clause
from tui.model.plan import MpiLaunch
from tui.model.profile import WORDS_TRUE, expand
from tui.model.quantities import parse_size
from tui.workloads.ior.body import Ior
from tui.workloads.ior.output import PHASES
from tui.workloads.mpi_plan import (
    COUNTS,
    MpiPlan,
    flag_problems,
    launch_of,
    launch_problems,
    refuse,
    seconds_given,
    seconds_problem,
    texts_of,
)

APIS = ("POSIX", "MPIIO", "MMAP")
MOST_BYTES = 1 << 50  # of one size
FLAGS = {  # key of a profile and IOR's option for it, in the order of a command line
    "file_per_process": "-F",
    "collective": "-c",
    "random": "-z",
    "fsync": "-e",
    "reorder": "-C",
    "direct": "--posix.odirect",
}

TEXTS = ("transfer", "block", "segments", "iterations", "phases", "api", "stonewall")
WEAR_OUT = "-O stoneWallingWearOut=1"
# one line per rank, after the row of its access
RANKS_CSV = "-O saveRankPerformanceDetailsCSV=/dev/stdout"


class IorShape(Struct, frozen=True):
    """Work of one rank, from the options of a launch: bytes, I/O sizes, phases."""

    transfer: int
    block: int
    segments: int
    phases: tuple[str, ...]
    shared: bool
    reorder: bool
    direct: bool
    stonewall_s: int = 0

    @property
    def bytes_per_rank(self) -> int:
        """Bytes that each rank writes or reads in each phase; with a time limit, the maximum."""
        return self.block * self.segments


def shape_of(options: Sequence[str]) -> IorShape:
    """Return the work of one rank from the options of a launch."""
    words = [shlex.split(option) for option in options]
    values = {each[0]: each[-1] for each in words if each}
    return IorShape(
        transfer=int(values["-t"]),
        block=int(values["-b"]),
        segments=int(values["-s"]),
        phases=tuple(
            name for name, option in zip(PHASES, ("-w", "-r"), strict=True) if option in values
        ),
        shared="-F" not in values,
        reorder="-C" in values,
        direct=FLAGS["direct"] in values,
        stonewall_s=int(values.get("-D", 0)),
    )


def resolve(tag: str, spec: Ior, values: Mapping[str, str]) -> MpiLaunch:
    """Return the launch with all parameters resolved.

    Raises UsageError with all problems at once.
    """
    texts = texts_of(spec, (*TEXTS, *FLAGS), values)
    more = tuple(expand(option, values) for option in spec.options)
    refuse(tag, "ior", _problems(texts, more))
    transfer, block = parse_size(texts["transfer"]), parse_size(texts["block"])
    flags = [
        option
        for name, option in FLAGS.items()
        if texts[name].lower() in WORDS_TRUE and _acts(name, texts)
    ]
    phases = ["-w", "-r"] if "read" in texts["phases"] else ["-w"]
    sizes = [f"-t {transfer}", f"-b {block}", f"-s {texts['segments']}"]
    seconds = seconds_given(texts["stonewall"])
    wall = [f"-D {seconds}", WEAR_OUT] if seconds else []
    return launch_of(
        spec,
        texts,
        values,
        items=0 if wall else block // transfer * int(texts["segments"]),
        stride="",
        options=(f"-a {texts['api'].upper()}", *sizes, *phases, *flags, *wall, *more),
        bytes_per_op=transfer,
    )


def _acts(name: str, texts: Mapping[str, str]) -> bool:
    """Return whether a flag has an effect; reordering ranks, for instance, only affects reads."""
    return name != "reorder" or "read" in texts["phases"]


def _problems(texts: Mapping[str, str], options: Sequence[str]) -> Iterator[str]:
    yield from launch_problems("ior", texts, COUNTS | {"segments": 10**9})
    if texts["phases"].replace(" ", "") not in ("write", "write,read"):
        yield f"phases: '{texts['phases']}' is neither 'write' nor 'write,read'"
    if texts["api"].upper() not in APIS:
        yield f"api: '{texts['api']}' is not one of: {', '.join(APIS)}"
    yield from flag_problems(texts, FLAGS)
    yield from seconds_problem(texts, "stonewall", 0)
    yield from _size_problems(texts)
    yield from _joint_problems(texts, options)


def _size_problems(texts: Mapping[str, str]) -> Iterator[str]:
    sizes: dict[str, int] = {}
    for name in ("transfer", "block"):
        try:
            sizes[name] = parse_size(texts[name])
        except ValueError as error:
            yield f"{name}: {error}"
            continue
        if not 8 <= sizes[name] <= MOST_BYTES or sizes[name] % 8:
            yield (
                f"{name}: found '{texts[name]}'; expected a multiple of 8 bytes, from 8 bytes to"
                f" {units.size(MOST_BYTES)}"
            )
    if len(sizes) == 2 and sizes["transfer"] and sizes["block"] % sizes["transfer"]:
        yield (
            f"block: {units.size(sizes['block'])} is not a multiple of the transfer size,"
            f" {units.size(sizes['transfer'])}"
        )
    is_random = texts["random"].lower() in WORDS_TRUE
    if len(sizes) == 2 and is_random and sizes["block"] == sizes["transfer"]:
        both = f"block and transfer are both {units.size(sizes['block'])}"
        yield f"random: {both}; I/Os are shuffled within a block, which needs more than one"


def _joint_problems(texts: Mapping[str, str], options: Sequence[str]) -> Iterator[str]:
    on = {name for name in FLAGS if texts[name].lower() in WORDS_TRUE and _acts(name, texts)}
    if "collective" in on and texts["api"].upper() != "MPIIO":
        yield f"collective: requires api MPIIO; found {texts['api']}"
    if "direct" in on and texts["api"].upper() != "POSIX":
        yield f"direct: requires api POSIX; found {texts['api']}"
    if {"random", "reorder"} <= on and "file_per_process" not in on:
        yield "random: cannot be used with reorder (-C) in a shared file"
    if "reorder" in on and any(option.startswith("-Z") for option in options):
        yield "options: -Z cannot be used with reorder (-C)"


def arguments(launch: MpiLaunch, directory: str, *, by_rank: bool) -> list[str]:
    """Return IOR's arguments for a run in `directory`.

    `by_rank`: print a line per rank.
    """
    words = [word for option in launch.options for word in shlex.split(option)]
    figures = RANKS_CSV.split() if by_rank else []
    return [
        "-v",
        *words,
        "-i",
        str(launch.iterations),
        *figures,
        "-o",
        posixpath.join(directory, "data"),
    ]


def files_needed(launch: MpiLaunch, hosts: int) -> int:
    """Return the maximum number of inodes; each iteration is removed before the next one."""
    return (1 if shape_of(launch.options).shared else launch.ranks(hosts)) + 2


def _work(launch: MpiLaunch, hosts: int) -> Iterator[str]:
    ranks, shape = launch.ranks(hosts), shape_of(launch.options)
    each = f"{shape.segments} x {units.size(shape.block)}"
    most = f"as many as {shape.stonewall_s} s allow, up to " if shape.stonewall_s else ""
    files = "1, shared by all ranks" if shape.shared else f"{ranks}, one per rank"
    yield (
        f"bytes={most}{ranks} ranks x {each} = {units.size(ranks * shape.bytes_per_rank)} in each"
        " phase"
    )
    yield (
        f"ios={launch.items or 'as many as possible'} of {units.size(shape.transfer)} per rank per"
        " phase"
    )
    yield (
        f"files={files}; data* in the run's own directory, removed by IOR after each of"
        f" {launch.iterations} iterations"
    )


def _notes(launch: MpiLaunch, hosts: int) -> Iterator[str]:
    if warning := cache_warning(shape_of(launch.options), hosts):
        yield f"; {CACHE_WARNINGS[warning['code']]}"


CACHE_WARNINGS = {
    "one-client": (
        "all ranks are on one client: its cache may serve the data that it has just written"
    ),
    "not-reordered": (
        "without reorder each rank reads its own data, which the client's cache may serve"
    ),
}


def cache_warning(shape: IorShape, nodes: int) -> Clause | None:
    """Return why a client's page cache may answer reads; None if each client reads another
    client's data, or there are no buffered reads.
    """
    if "read" not in shape.phases or shape.direct:
        return None
    if nodes < 2:
        return clause("one-client")
    return None if shape.reorder else clause("not-reordered")


PLAN = MpiPlan(
    resolve=resolve,
    phases=lambda launch: shape_of(launch.options).phases,
    arguments=lambda launch, directory: arguments(launch, directory, by_rank=True),
    bytes_per_rank=lambda launch: shape_of(launch.options).bytes_per_rank,
    work=_work,
    notes=_notes,
)

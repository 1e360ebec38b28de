"""The ior section of a profile: IOR's own options by meaning.

Values may name parameters: '{block}'.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from tui.workloads.mpi_body import MpiBody, Scalar

# Options that benchtui sets itself, or whose output it does not read. What is left is passed on as
# it stands.
OWN_OPTIONS = {
    "-a": "api",
    "-b": "block",
    "-c": "collective",
    "-C": "reorder",
    "-D": "stonewall",
    "-e": "fsync",
    "-F": "file_per_process",
    "-i": "iterations",
    "-o": "directory",
    "-r": "phases",
    "-s": "segments",
    "-t": "transfer",
    "-v": "nothing: it is always given",
    "-w": "phases",
    "-z": "random",
    "--posix.odirect": "direct",
}
REFUSED_OPTIONS = {
    "-d": "a delay would be taken for a part of a phase",
    "-E": "each run has files of its own",
    "-f": "one launch makes one test",
    "-k": "files would stay, and be found by the next iteration",
    "-K": "files would stay, and be found by the next iteration",
    "-m": "files would stay: iterations have files of their own",
    "-N": "ranks would be left out",
    "-O": "it can change any other option",
    "-R": "reads would be compared while they are measured",
    "-T": "the number of iterations would not be known",
    "-u": "directories would stay, one for each rank",
    "-W": "it reads once more, which is no phase of its own",
    "-y": "the directory would not be the run's own",
    "--dryRun": "it moves no bytes",
    "-h": "it prints help",
    "-H": "it prints help",
}


def known_option(option: str) -> str:
    """Reject options that change the output format. Raises ValueError."""
    text = option.strip()
    if not text or not text.isprintable() or not text.startswith("-"):
        raise ValueError(f"'{option}' is no option")
    name = text.split("=")[0].split()[0] if text.startswith("--") else text[:2]
    if name in OWN_OPTIONS:
        raise ValueError(f"{name} is not allowed here; set it with {OWN_OPTIONS[name]}")
    if name in REFUSED_OPTIONS:
        raise ValueError(f"{name} cannot be used: {REFUSED_OPTIONS[name]}")
    return text


class Ior(MpiBody):
    """The IOR command of a profile; unknown keys are errors."""

    transfer: Scalar = Field(description="Bytes of each I/O (-t)")
    block: Scalar = Field(description="Bytes that a rank writes in one piece, in each segment (-b)")
    segments: Scalar = Field(1, description="Number of blocks of each rank (-s)")
    iterations: Scalar = Field(
        1, description="Repetitions within one IOR, each with new files (-i)"
    )
    phases: Scalar = Field(
        "write,read", description="'write', or 'write,read': files are read after they were written"
    )
    api: Scalar = Field("POSIX", description="I/O interface (-a): POSIX, MPIIO or MMAP")
    file_per_process: Scalar = Field(
        True, description="Each rank has its own file (-F); false: all share one"
    )
    collective: Scalar = Field(False, description="Collective I/O (-c), with MPIIO")
    random: Scalar = Field(False, description="Random order of the I/Os within a block (-z)")
    fsync: Scalar = Field(
        False, description="fsync at the end of the write phase, within its time (-e)"
    )
    direct: Scalar = Field(False, description="Bypass the page cache (--posix.odirect), with POSIX")
    stonewall: Scalar = Field(
        0,
        description=(
            "Seconds after which a phase ends, once all ranks have done as much as the fastest "
            "(-D, wear-out); block x segments then limits a rank. 0: bounded by block x segments"
        ),
    )
    reorder: Scalar = Field(
        True, description="Ranks read what the next host has written, not their own (-C)"
    )
    options: list[Annotated[str, AfterValidator(known_option)]] = Field(
        default_factory=list,
        description="More options of IOR, one per entry, such as -g or '-l random'",
    )
    program: Scalar = Field(
        "ior", description="IOR on the hosts: a name on PATH, or an absolute path"
    )

"""The ior section of a profile, and IOR jobs without a profile.

Values may refer to parameters: '{block}'. Terms: ``ranks=16 transfer=1m block=4g
directory=/mnt/weka``.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from tui.workloads.mpi_body import MpiBody, MpiTerms, Scalar, check_allowed
from tui.workloads.terms import GivenTerms, JobTerm, TermJob

# Options that benchtui sets itself, or cannot support. All others are passed on unchanged.
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
    "-w": "phases",
    "-z": "random",
    "--posix.odirect": "direct",
}
REFUSED_OPTIONS = {
    "-v": "benchtui always sets it",
    "-d": "benchtui would count the delay as part of a phase",
    "-E": "each run has its own files",
    "-f": "one launch runs one test",
    "-k": "the next iteration would find the remaining files",
    "-K": "the next iteration would find the remaining files",
    "-m": "each iteration writes its own files, and benchtui would leave some behind",
    "-N": "some ranks would not take part",
    "-O": "it can change any other option",
    "-R": "data comparison would be part of the measured time",
    "-T": "the number of iterations would be unknown",
    "-u": "directories would remain, one per rank",
    "-W": "it adds a read pass that is not a separate phase",
    "-y": "the run would not use its own directory",
    "--dryRun": "it moves no data",
    "-h": "it prints help",
    "-H": "it prints help",
}
TERMS = (
    JobTerm("directory", "directory", "", "Directory on the file system under test", "directory",
        words=("dir", "path", "target"), plain=True),
    JobTerm("ranks", "count", "8", "MPI ranks on each host", "ranks",
        words=("x#", "# x", "rank", "processes")),
    JobTerm("transfer", "size", "1m", "Bytes per I/O (-t)", "transfer",
        words=("transfer size", "transfers", "I/O size"), plain=True),
    JobTerm("block", "size", "1g", "Contiguous bytes written by each rank (-b)", "block",
        words=("block size", "blocks")),
    JobTerm("segments", "count", "1", "Blocks per rank (-s)", "segments", words=("segment",)),
    JobTerm("stonewall", "number", "0", "Seconds after which a phase ends (-D); 0: no time limit",
        "stonewall"),
    JobTerm("iterations", "count", "1", "Repetitions within one IOR run", "iterations"),
    JobTerm("phases", "text", "write,read", "write, or write,read", "phases", ("write",)),
    JobTerm("file_per_process", "flag", "true", "One file per rank; false: one file for all ranks",
        "file per process", means=(("file per process", "true"), ("shared file", "false"))),
    JobTerm("random", "flag", "false", "I/Os within a block in random order (-z)", "random",
        means=(("random", "true"), ("sequential", "false"), ("seq", "false"))),
    JobTerm("fsync", "flag", "true", "fsync included in the write phase (-e)", "fsync"),
    JobTerm("direct", "flag", "false", "Bypass the client page cache", "direct",
        means=(("direct", "true"), ("O_DIRECT", "true"), ("buffered", "false"))),
    JobTerm("reorder", "flag", "true", "Each rank reads data that the next host wrote (-C)",
        "reorder"),
    JobTerm("api", "text", "POSIX", "POSIX, MPIIO or MMAP", "api",
        means=(("POSIX", "POSIX"), ("MPIIO", "MPIIO"))),
    JobTerm("options", "text", "", "IOR's own options, such as -g or '-l random'", "options"),
    JobTerm("program", "text", "ior", "IOR on the hosts: a name on PATH or an absolute path",
        "program"),
    JobTerm("addresses", "text", "auto",
        "Addresses for MPI: auto, a network such as 10.0.0.0/24, or h1=10.0.0.1",
        "addresses"),
)  # fmt: skip
IN_NAME = ("transfer", "block", "ranks")


def known_option(option: str) -> str:
    """Return an IOR option without blanks around it.

    Raises ValueError for one that benchtui sets itself or cannot support.
    """
    text = option.strip()
    if not text or not text.isprintable() or not text.startswith("-"):
        raise ValueError(f"'{option}' is not an option")
    name = text.split("=")[0].split()[0] if text.startswith("--") else text[:2]
    check_allowed(name, OWN_OPTIONS, REFUSED_OPTIONS)
    return text


class Ior(MpiBody):
    """The IOR command of a profile; unknown keys are errors."""

    transfer: Scalar = Field(description="Bytes per I/O (-t)")
    block: Scalar = Field(description="Contiguous bytes written by each rank in each segment (-b)")
    segments: Scalar = Field(1, description="Number of blocks per rank (-s)")
    iterations: Scalar = Field(
        1, description="Repetitions within one IOR run, each with new files (-i)"
    )
    phases: Scalar = Field(
        "write,read",
        description="'write', or 'write,read': files are read after they have been written",
    )
    api: Scalar = Field("POSIX", description="I/O interface (-a): POSIX, MPIIO or MMAP")
    file_per_process: Scalar = Field(
        True, description="One file per rank (-F); false: one file for all ranks"
    )
    collective: Scalar = Field(False, description="Collective I/O (-c), with MPIIO")
    random: Scalar = Field(False, description="Random I/O order within a block (-z)")
    fsync: Scalar = Field(
        False, description="fsync at the end of the write phase, included in the time (-e)"
    )
    direct: Scalar = Field(False, description="Bypass the page cache (--posix.odirect), with POSIX")
    stonewall: Scalar = Field(
        0,
        description=(
            "Seconds after which a phase ends, once all ranks have moved as much as the"
            " fastest (-D, wear-out); block x segments is then the limit per rank. 0: no time"
            " limit, all of block x segments"
        ),
    )
    reorder: Scalar = Field(
        True, description="Ranks read the data written by the next host, not their own (-C)"
    )
    options: list[Annotated[str, AfterValidator(known_option)]] = Field(
        default_factory=list,
        description="More IOR options, one per entry, such as -g or '-l random'",
    )
    program: Scalar = Field(
        "ior", description="IOR on the hosts: a name on PATH, or an absolute path"
    )


class IorTerms(MpiTerms):
    """Builds jobs from IOR options given as terms."""

    def job_of_terms(self, given: GivenTerms) -> TermJob:
        """Return the job for these terms. Raises UsageError."""
        if given.get("phases") == ("write", "read"):  # one value with a comma, not two of a sweep
            given = {**given, "phases": ("write,read",)}
        return super().job_of_terms(given)


JOBS = IorTerms(
    tool="ior",
    terms=TERMS,
    known_option=known_option,
    in_slug=IN_NAME,
    in_title=IN_NAME,
    headline={"metric": "bandwidth", "direction": "write"},
)

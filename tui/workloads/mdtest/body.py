"""The mdtest section of a profile, and mdtest jobs without a profile.

Values may refer to parameters: '{items}'. Terms: ``ranks=16 items=1000 directory=/mnt/weka``.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from tui.workloads.mpi_body import MpiBody, MpiTerms, Scalar, check_allowed
from tui.workloads.terms import JobTerm

# Options that benchtui sets itself, or cannot support. All others are passed on unchanged.
OWN_OPTIONS = {"-d": "directory", "-n": "items", "-i": "iterations", "-N": "stride"}
REFUSED_OPTIONS = {
    "-v": "benchtui always sets it",
    "-V": "benchtui can only read output at the default verbosity",
    "-Z": "it prints times instead of rates",
    "-f": "each launch uses a single task count",
    "-l": "each launch uses a single task count",
    "-s": "each launch uses a single task count",
    "-p": "benchtui would count the delay as a phase",
    "-I": "the number of files would not be known",
    "-b": "the number of files would not be known",
    "-z": "the number of files would not be known",
    "-S": "ranks would share files",
    "-R": "random stat requires a seed on every rank",
}
TERMS = (
    JobTerm("directory", "directory", "", "Directory of the file system under test", "directory",
        words=("dir", "path", "target"), plain=True),
    JobTerm("ranks", "count", "8", "MPI ranks on each host", "ranks",
        words=("x#", "# x", "rank", "processes")),
    JobTerm("items", "count", "1000", "Files per rank", "files",
        words=("file", "files per rank")),
    JobTerm("iterations", "count", "1", "Repetitions within one mdtest run", "iterations"),
    JobTerm("options", "text", "-F -u",
        "mdtest's own options: -F files only, -u one directory per rank", "options"),
    JobTerm("stride", "text", "next-client",
        "Rank shift, so that ranks use other ranks' files: next-client, or a number (-N)",
        "stride"),
    JobTerm("program", "text", "mdtest", "mdtest on the hosts: a name on PATH or an absolute path",
        "program"),
    JobTerm("addresses", "text", "auto", "auto, a network like 10.0.0.0/24, or h1=10.0.0.1",
        "addresses"),
)  # fmt: skip


def known_option(option: str) -> str:
    """Return an mdtest option without blanks around it.

    Raises ValueError for one that benchtui sets itself or cannot support.
    """
    text = option.strip()
    if not text or not text.isprintable():
        raise ValueError(f"'{option}' is not an option")
    name = text if text.startswith("--") else text[:2]
    check_allowed(name, OWN_OPTIONS, REFUSED_OPTIONS)
    return text


class Mdtest(MpiBody):
    """The mdtest command of a profile; unknown keys are errors."""

    items: Scalar = Field(description="Files per rank (-n)")
    iterations: Scalar = Field(1, description="Repetitions within one mdtest run (-i)")
    stride: Scalar = Field(
        "next-client",
        description=(
            "Rank shift, so that ranks use other ranks' files: 'next-client', or a number as for"
            " mdtest -N"
        ),
    )
    options: list[Annotated[str, AfterValidator(known_option)]] = Field(
        default_factory=list,
        description="More mdtest options, one per entry, such as -F, -u, '-w 3901'",
    )
    program: Scalar = Field(
        "mdtest", description="mdtest on the hosts: a name on PATH, or an absolute path"
    )


JOBS = MpiTerms(
    tool="mdtest",
    terms=TERMS,
    known_option=known_option,
    in_slug=("ranks", "items"),
    in_title=("ranks", "items", "iterations"),
    headline={"metric": "ops", "direction": "create"},
)

"""The mdtest section of a profile: mdtest's own options by meaning.

Values may name parameters: '{items}'.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from tui.workloads.mpi_body import MpiBody, Scalar

# Options that benchtui sets itself, or whose output it does not read. What is left is passed on as
# it stands.
OWN_OPTIONS = {
    "-d": "directory",
    "-n": "items",
    "-i": "iterations",
    "-N": "stride",
    "-v": "nothing: it is always given",
}
REFUSED_OPTIONS = {
    "-V": "the output of other verbosities is not read",
    "-Z": "it prints times in place of rates",
    "-f": "one launch measures one number of tasks",
    "-l": "one launch measures one number of tasks",
    "-s": "one launch measures one number of tasks",
    "-p": "a delay would be taken for a phase",
    "-I": "the number of files would not be known",
    "-b": "the number of files would not be known",
    "-z": "the number of files would not be known",
    "-S": "files shared by all ranks are not one's own",
    "-R": "random stat needs a seed on every rank",
}


def known_option(option: str) -> str:
    """Reject options that change the output format. Raises ValueError."""
    text = option.strip()
    if not text or not text.isprintable():
        raise ValueError(f"'{option}' is no option")
    name = text if text.startswith("--") else text[:2]
    if name in OWN_OPTIONS:
        raise ValueError(f"{name} is not allowed here; set it with {OWN_OPTIONS[name]}")
    if name in REFUSED_OPTIONS:
        raise ValueError(f"{name} cannot be used: {REFUSED_OPTIONS[name]}")
    return text


class Mdtest(MpiBody):
    """The mdtest command of a profile; unknown keys are errors."""

    items: Scalar = Field(description="Files of each rank (-n)")
    iterations: Scalar = Field(1, description="Repetitions within one mdtest (-i)")
    stride: Scalar = Field(
        "next-client",
        description=(
            "Which rank's files a rank works on: 'next-client', or mdtest's own number (-N)"
        ),
    )
    options: list[Annotated[str, AfterValidator(known_option)]] = Field(
        default_factory=list,
        description="More options of mdtest, one per entry, such as -F, -u, '-w 3901'",
    )
    program: Scalar = Field(
        "mdtest", description="mdtest on the hosts: a name on PATH, or an absolute path"
    )

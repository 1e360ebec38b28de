"""The mdtest section of a profile, and mdtest jobs without a profile.

Values may refer to parameters: '{items}'. Terms: ``ranks=16 items=1000 directory=/mnt/weka``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator, Field

from tui.workloads.base import FromTerms
from tui.workloads.mpi_body import MpiBody, Scalar
from tui.workloads.terms import GivenTerms, JobTerm, TermJob, TermParam, check_terms, options_of

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
    JobTerm("directory", "directory", "", "Directory of the file system under test", "directory"),
    JobTerm("ranks", "count", "8", "MPI ranks on each host", "ranks"),
    JobTerm("items", "count", "1000", "Files per rank", "files"),
    JobTerm("iterations", "count", "1", "Repetitions within one mdtest run", "iterations"),
    JobTerm("options", "text", "-F -u",
        "mdtest's own options: -F files only, -u one directory per rank", "options"),
    JobTerm("stride", "text", "next-client",
        "Shift to the rank whose files a rank works on: next-client, or a number (-N)", "stride"),
    JobTerm("program", "text", "mdtest", "mdtest on the hosts: a name on PATH or an absolute path",
        "program"),
    JobTerm("addresses", "text", "auto", "auto, a network like 10.0.0.0/24, or h1=10.0.0.1",
        "addresses"),
)  # fmt: skip
BY_NAME = {term.name: term for term in TERMS}


def known_option(option: str) -> str:
    """Return an mdtest option without blanks around it.

    Raises ValueError for one that benchtui sets itself or cannot support.
    """
    text = option.strip()
    if not text or not text.isprintable():
        raise ValueError(f"'{option}' is not an option")
    name = text if text.startswith("--") else text[:2]
    if name in OWN_OPTIONS:
        raise ValueError(f"{name} is not allowed here; set it with {OWN_OPTIONS[name]}")
    if name in REFUSED_OPTIONS:
        raise ValueError(f"{name} cannot be used: {REFUSED_OPTIONS[name]}")
    return text


class Mdtest(MpiBody):
    """The mdtest command of a profile; unknown keys are errors."""

    items: Scalar = Field(description="Files per rank (-n)")
    iterations: Scalar = Field(1, description="Repetitions within one mdtest run (-i)")
    stride: Scalar = Field(
        "next-client",
        description=(
            "Shift to the rank whose files a rank works on: 'next-client', or a number as for"
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


class MdtestTerms(FromTerms):
    """Builds jobs from mdtest options given as terms."""

    def job_terms(self) -> Sequence[JobTerm]:
        """Return the options in the Job form."""
        return TERMS

    def job_of_terms(self, given: GivenTerms) -> TermJob:
        """Return the job for these terms. Raises UsageError."""
        return make_job(given)


def make_job(given: GivenTerms) -> TermJob:
    """Return the job for these terms. Raises UsageError."""
    check_terms("mdtest", given, TERMS, known_option)
    wanted: GivenTerms = {term.name: given.get(term.name, (term.default,)) for term in TERMS}
    params = {
        name: TermParam(BY_NAME[name].kind, each, BY_NAME[name].help)
        for name, each in wanted.items()
        if name != "options"
    }
    body = {
        "directory": "{directory}", "ranks_per_host": "{ranks}", "items": "{items}",
        "iterations": "{iterations}",
        "stride": "{stride}", "options": options_of(wanted["options"][0]), "program": "{program}",
        "addresses": "{addresses}",
    }  # fmt: skip
    title = " ".join(
        f"{name}={','.join(wanted[name])}" for name in ("ranks", "items", "iterations")
    )
    slug = "-".join(("ranks", *wanted["ranks"], "items", *wanted["items"]))
    return TermJob(
        slug, title, params, body, {"headline": {"metric": "ops", "direction": "create"}}
    )

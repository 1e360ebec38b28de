"""IOR without a profile: ``ranks=16 transfer=1m block=4g directory=/mnt/weka``."""

from __future__ import annotations

from collections.abc import Sequence

from tui.workloads.base import FromTerms
from tui.workloads.ior.body import known_option
from tui.workloads.terms import GivenTerms, JobTerm, TermJob, TermParam, check_terms, options_of

TERMS = (
    JobTerm("directory", "directory", "", "Directory of the file system under test", "directory"),
    JobTerm("ranks", "count", "8", "MPI ranks on each host", "ranks"),
    JobTerm("transfer", "size", "1m", "Bytes of each I/O (-t)", "transfer"),
    JobTerm("block", "size", "1g", "Bytes that a rank writes in one piece (-b)", "block"),
    JobTerm("segments", "count", "1", "Blocks of each rank (-s)", "segments"),
    JobTerm("stonewall", "number", "0", "Seconds after which a phase ends (-D); 0: with its bytes",
        "stonewall"),
    JobTerm("iterations", "count", "1", "Repetitions within one IOR", "iterations"),
    JobTerm("phases", "text", "write,read", "write, or write,read", "phases", ("write",)),
    JobTerm("file_per_process", "flag", "true", "A file for each rank; false: one for all",
        "file per process"),
    JobTerm("random", "flag", "false", "I/Os of a block in random order (-z)", "random"),
    JobTerm("fsync", "flag", "true", "fsync within the time of the write phase (-e)", "fsync"),
    JobTerm("direct", "flag", "false", "Past the page cache of the clients", "direct"),
    JobTerm("reorder", "flag", "true", "Ranks read what the next host has written (-C)", "reorder"),
    JobTerm("api", "text", "POSIX", "POSIX, MPIIO or MMAP", "api"),
    JobTerm("options", "text", "", "IOR's own options, such as -g or '-l random'", "options"),
    JobTerm("program", "text", "ior", "IOR on the hosts: a name on PATH or an absolute path",
        "program"),
    JobTerm("addresses", "text", "auto", "auto, a network like 10.0.0.0/24, or h1=10.0.0.1",
        "addresses"),
)  # fmt: skip
IN_NAME = ("transfer", "block", "ranks")


class IorTerms(FromTerms):
    """Jobs of ior options."""

    def job_terms(self) -> Sequence[JobTerm]:
        """Return the options of the form."""
        return TERMS

    def job_of_terms(self, given: GivenTerms) -> TermJob:
        """Return the job of options on the command line. Raises UsageError."""
        return make_job(given)


def make_job(given: GivenTerms) -> TermJob:
    """Return the job of terms. Raises UsageError."""
    if given.get("phases") == ("write", "read"):  # its comma is no list of values to measure
        given = {**given, "phases": ("write,read",)}
    check_terms("ior", given, TERMS, known_option)
    wanted: GivenTerms = {term.name: given.get(term.name, (term.default,)) for term in TERMS}
    params = {
        term.name: TermParam(term.kind, wanted[term.name], term.help)
        for term in TERMS
        if term.name != "options"
    }
    body = {name: f"{{{name}}}" for name in params if name != "ranks"}
    body |= {"ranks_per_host": "{ranks}"}
    title = " ".join(f"{name}={','.join(wanted[name])}" for name in IN_NAME)
    slug = "-".join(word for name in IN_NAME for word in (name, *wanted[name]))
    return TermJob(
        slug,
        title,
        params,
        {**body, "options": options_of(wanted["options"][0])},
        {"headline": {"metric": "bandwidth", "direction": "write"}},
    )

"""mdtest without a profile: ``ranks=16 items=1000 directory=/mnt/weka``."""

from __future__ import annotations

from collections.abc import Sequence

from tui.workloads.base import FromTerms
from tui.workloads.mdtest.body import known_option
from tui.workloads.terms import GivenTerms, JobTerm, TermJob, TermParam, check_terms, options_of

TERMS = (
    JobTerm("directory", "directory", "", "Directory of the file system under test", "directory"),
    JobTerm("ranks", "count", "8", "MPI ranks on each host", "ranks"),
    JobTerm("items", "count", "1000", "Files of each rank", "files"),
    JobTerm("iterations", "count", "1", "Repetitions within one mdtest", "iterations"),
    JobTerm("options", "text", "-F -u",
        "mdtest's own options: -F files only, -u a directory for each rank", "options"),
    JobTerm("stride", "text", "next-client",
        "Whose files a rank works on: next-client, or a number (-N)", "stride"),
    JobTerm("program", "text", "mdtest", "mdtest on the hosts: a name on PATH or an absolute path",
        "program"),
    JobTerm("addresses", "text", "auto", "auto, a network like 10.0.0.0/24, or h1=10.0.0.1",
        "addresses"),
)  # fmt: skip
BY_NAME = {term.name: term for term in TERMS}


class MdtestTerms(FromTerms):
    """Jobs of mdtest options."""

    def job_terms(self) -> Sequence[JobTerm]:
        """Return the options of the form."""
        return TERMS

    def job_of_terms(self, given: GivenTerms) -> TermJob:
        """Return the job of options on the command line. Raises UsageError."""
        return make_job(given)


def make_job(given: GivenTerms) -> TermJob:
    """Return the job of terms. Raises UsageError."""
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

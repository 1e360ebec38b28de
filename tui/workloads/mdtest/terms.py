"""mdtest without a profile: ``ranks=16 items=1000 directory=/mnt/weka``."""

from __future__ import annotations

from collections.abc import Sequence

from tui.model.problem import UsageError
from tui.model.profile import Param, parse_param
from tui.workloads.mdtest.body import known_option
from tui.workloads.terms import GivenTerms, JobTerm, TermJob, TermParam, unknown_term

TERMS = (
    JobTerm("directory", "directory", "", "Directory of the file system under test", "directory"),
    JobTerm("ranks", "count", "8", "MPI ranks on each host", "ranks"),
    JobTerm("items", "count", "1000", "Files of each rank", "files"),
    JobTerm("iterations", "count", "1", "Repetitions within one mdtest", "iterations"),
    JobTerm("options", "text", "-F -u", "mdtest's own options: -F files only, -u a directory for each rank", "options"),
    JobTerm("stride", "text", "next-client", "Whose files a rank works on: next-client, or a number (-N)", "stride"),
    JobTerm("program", "text", "mdtest", "mdtest on the hosts: a name on PATH or an absolute path", "program"),
    JobTerm("addresses", "text", "auto", "auto, a network like 10.0.0.0/24, or h1=10.0.0.1", "addresses"),
)  # fmt: skip
BY_NAME = {term.name: term for term in TERMS}


def make_job(given: GivenTerms) -> TermJob:
    """Return the job of terms. Raises UsageError."""
    for name, values in given.items():
        _check(name, values)
    if "directory" not in given:
        raise UsageError("mdtest: say where: directory=/mnt/...")
    wanted: GivenTerms = {term.name: given.get(term.name, (term.default,)) for term in TERMS}
    params = {
        name: TermParam(BY_NAME[name].kind, each, BY_NAME[name].help)
        for name, each in wanted.items()
        if name != "options"
    }
    body = {
        "directory": "{directory}", "ranks_per_host": "{ranks}", "items": "{items}", "iterations": "{iterations}",
        "stride": "{stride}", "options": _options(wanted["options"][0]), "program": "{program}",
        "addresses": "{addresses}",
    }  # fmt: skip
    title = " ".join(f"{name}={','.join(wanted[name])}" for name in ("ranks", "items", "iterations"))
    slug = "-".join(("ranks", *wanted["ranks"], "items", *wanted["items"]))
    return TermJob(slug, title, params, body, {"headline": {"metric": "ops", "direction": "create"}})


def _check(name: str, values: Sequence[str]) -> None:
    term = BY_NAME.get(name)
    if term is None:
        raise unknown_term("mdtest", name, list(BY_NAME), TERMS)
    if name == "options" and len(values) > 1:
        raise UsageError("mdtest: options= takes one list with blanks between: options='-F -u'")
    try:
        for value in values:
            parse_param(Param(default=value, kind=term.kind), value)
            for option in _options(value) if name == "options" else ():
                known_option(option)
    except ValueError as error:
        raise UsageError(f"mdtest: {name}={','.join(values)}: {error}") from None


def _options(text: str) -> list[str]:
    """Return options, one an entry: a word without a dash is the value of the option before it."""
    found: list[str] = []
    for word in text.split():
        if word.startswith("-") or not found:
            found.append(word)
        else:
            found[-1] += f" {word}"
    return found

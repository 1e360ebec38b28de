"""Profile keys that all MPI programs share: directory, ranks, launcher, addresses; and their jobs
without a profile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from tui.model.problem import UsageError
from tui.workloads.base import FromTerms
from tui.workloads.terms import GivenTerms, JobTerm, TermJob, TermParam, unknown_term

Scalar = str | bool | int | float


class MpiBody(BaseModel):
    """Launch parameters of an MPI program in a profile; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    directory: Scalar = Field(
        description=("Directory on the file system under test; each run has its own folder in it")
    )
    ranks_per_host: Scalar = Field(description="MPI ranks on each host")
    program: Scalar = Field(description="Program on the hosts: a name on PATH, or an absolute path")
    mpi: Literal["auto", "mpich", "openmpi"] = Field(
        "auto", description="MPI family; auto: the MPI that the program was built with"
    )
    launcher: Literal["benchtui", "plain"] = Field(
        "benchtui",
        description=(
            "Rank launcher: benchtui's own connections; or plain: mpiexec on the"
            " first host logs in to the others by SSH"
        ),
    )
    addresses: Scalar = Field(
        "auto",
        description=(
            "Addresses for connections between the hosts: 'auto' (those that SSH uses), a"
            " network such as 10.0.0.0/24, or host=address pairs separated by commas"
        ),
    )
    env: dict[str, Scalar] = Field(
        default_factory=dict,
        description=(
            "Environment variables for the ranks, such as UCX_NET_DEVICES; no others are passed"
        ),
    )


def check_allowed(name: str, own: Mapping[str, str], refused: Mapping[str, str]) -> None:
    """Raise ValueError for an option that benchtui sets itself, from the key in `own`, or that
    cannot be used, for the reason in `refused`.
    """
    if name in own:
        raise ValueError(f"{name} is not allowed here; set it with {own[name]}")
    if name in refused:
        raise ValueError(f"{name} cannot be used: {refused[name]}")


@dataclass(frozen=True, slots=True)
class MpiTerms(FromTerms):
    """Builds jobs from options of an MPI program given as terms.

    Each term is a parameter, and a key of the section; `ranks` is the number per host. The term
    `options` lists the program's own options: `known_option` raises ValueError for an invalid one.
    `in_slug` and `in_title` are the terms that name a job; `headline` is the profile's.
    """

    tool: str
    terms: Sequence[JobTerm]
    known_option: Callable[[str], str]
    in_slug: Sequence[str]
    in_title: Sequence[str]
    headline: Mapping[str, str]

    def job_terms(self) -> Sequence[JobTerm]:
        """Return the options in the Job form."""
        return self.terms

    def job_of_terms(self, given: GivenTerms) -> TermJob:
        """Return the job for these terms. Raises UsageError."""
        self._check(given)
        wanted = {term.name: given.get(term.name, (term.default,)) for term in self.terms}
        params = {
            term.name: TermParam(term.kind, wanted[term.name], term.help)
            for term in self.terms
            if term.name != "options"
        }
        body = {"ranks_per_host" if name == "ranks" else name: f"{{{name}}}" for name in params}
        return TermJob(
            "-".join(word for name in self.in_slug for word in (name, *wanted[name])),
            " ".join(f"{name}={','.join(wanted[name])}" for name in self.in_title),
            params,
            {**body, "options": options_of(wanted["options"][0])},
            {"headline": self.headline},
        )

    def _check(self, given: GivenTerms) -> None:
        """Raise UsageError for keys and values that are invalid."""
        from tui.model.profile import Param, parse_param

        by_name = {term.name: term for term in self.terms}
        for name, values in given.items():
            if name not in by_name:
                raise unknown_term(self.tool, name, list(by_name), self.terms)
            if name == "options" and len(values) > 1:
                raise UsageError(
                    f"{self.tool}: options= accepts one list, separated by spaces: options='-F -u'"
                )
            try:
                for value in values:
                    parse_param(Param(default=value, kind=by_name[name].kind), value)
                    for option in options_of(value) if name == "options" else ():
                        self.known_option(option)
            except ValueError as error:
                raise UsageError(f"{self.tool}: {name}={','.join(values)}: {error}") from None
        if "directory" not in given:
            raise UsageError(f"{self.tool}: no target: set directory=/mnt/...")


def options_of(text: str) -> list[str]:
    """Split options into a list; a word without a dash is the value of the option before it."""
    found: list[str] = []
    for word in text.split():
        if word.startswith("-") or not found:
            found.append(word)
        else:
            found[-1] += f" {word}"
    return found

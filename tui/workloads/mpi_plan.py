"""Plan an MPI program: check the profile keys that all MPI programs share, build the step, describe
the launch. Pure.
"""

from __future__ import annotations

import ipaddress
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tui.metrics import units
from tui.model.plan import HostTask, MpiLaunch, Step
from tui.model.problem import Problem, UsageError
from tui.model.profile import (
    WORDS_FALSE,
    WORDS_TRUE,
    ParamValue,
    Profile,
    expand,
    scalar_text,
)
from tui.model.quantities import parse_duration

if TYPE_CHECKING:
    from tui.model.address import HostAddress
    from tui.workloads.mpi_body import MpiBody

OWN_DIRECTORY = "benchtui-RUN"  # placeholder in plans for the run's own directory
MOST_RANKS = 4096  # on one host
COUNTS = {"ranks_per_host": MOST_RANKS, "iterations": 10**4}
LONGEST_S = 86400
SHARED = ("directory", "ranks_per_host", "program", "addresses")  # keys with a single value


@dataclass(frozen=True, slots=True)
class MpiPlan:
    """How a program is planned.

    `resolve` returns the launch for a profile's tag, its section and values of its parameters; it
    raises UsageError with all problems at once. The others return, for a launch: phases in order;
    the program's arguments in a directory; bytes written by each rank, None if unknown; lines about
    the work on some number of hosts, and notes on it.
    """

    resolve: Callable[[str, Any, Mapping[str, str]], MpiLaunch]
    phases: Callable[[MpiLaunch], Sequence[str]]
    arguments: Callable[[MpiLaunch, str], Sequence[str]]
    bytes_per_rank: Callable[[MpiLaunch], int | None]
    work: Callable[[MpiLaunch, int], Iterable[str]]
    notes: Callable[[MpiLaunch, int], Iterable[str]]

    def step(
        self,
        profile: Profile,
        params: Mapping[str, ParamValue],
        hosts: Sequence[HostAddress],
        seeds: Mapping[str, int],
        title: str,
    ) -> Step:
        """Return the step of a profile on these hosts; if it moves data, each rank has one I/O in
        flight. Raises UsageError.
        """
        values = {name: scalar_text(value) for name, value in params.items()}
        launch = self.resolve(profile.profile, profile.body, values)
        text = "\n".join((f"[{profile.tool}]", *self._lines(launch, len(hosts), title))) + "\n"
        own = posixpath.join(launch.directory, OWN_DIRECTORY)
        argv = [launch.program, *self.arguments(launch, own)]
        each = self.bytes_per_rank(launch)
        tasks = [
            HostTask(
                host=host.name,
                randseed=seeds[host.name],
                job_file=text,
                argv=argv,
                writes_bytes=None if each is None else launch.ranks_per_host * each,
                required_dir=launch.directory,
            )
            for host in hosts
        ]
        return Step(
            index=0,
            name=profile.profile,
            tool=profile.tool,
            params=dict(params),
            tasks=tasks,
            runtime_s=None,
            directions=list(self.phases(launch)),
            in_flight=launch.ranks(len(tasks)) if launch.bytes_per_op else None,
            mpi=launch,
        )

    def _lines(self, launch: MpiLaunch, hosts: int, title: str) -> Iterator[str]:
        """Yield the launch as lines of name=value, in place of a job file."""
        ranks = launch.ranks(hosts)
        yield f"ranks={units.plural(hosts, 'host')} x {launch.ranks_per_host} = {ranks}"
        yield from self.work(launch, hosts)
        yield f"phases={', '.join(self.phases(launch))}"
        yield f"launcher={launcher_text(launch, title)}"
        yield f"addresses={launch.addresses}"
        yield from self.notes(launch, hosts)


def texts_of(spec: MpiBody, names: Iterable[str], values: Mapping[str, str]) -> dict[str, str]:
    """Return the shared keys of a section and these keys by name, with parameters filled in."""
    return {
        name: expand(getattr(spec, name), values).strip()
        for name in dict.fromkeys((*SHARED, *names))
    }


def refuse(tag: str, tool: str, problems: Iterable[str]) -> None:
    """Raise UsageError if keys of a profile have problems."""
    if found := [Problem(f"{tag}: {tool}.{problem}") for problem in problems]:
        raise UsageError(found)


def launch_of(
    spec: MpiBody, texts: Mapping[str, str], values: Mapping[str, str], **own: Any
) -> MpiLaunch:
    """Return the launch of a checked profile.

    `own`: fields specific to the program.
    """
    return MpiLaunch(
        directory=posixpath.normpath(texts["directory"]),
        ranks_per_host=int(texts["ranks_per_host"]),
        iterations=int(texts.get("iterations", 1)),
        program=texts["program"],
        family=spec.mpi,
        launcher=spec.launcher,
        addresses=texts["addresses"],
        env={name: expand(value, values) for name, value in spec.env.items()},
        **own,
    )


def launch_problems(
    tool: str, texts: Mapping[str, str], counts: Mapping[str, int] = COUNTS
) -> Iterator[str]:
    """Yield problems in the keys that all MPI programs share.

    `counts`: maximum of each integer key.
    """
    for name, most in counts.items():
        if not re.fullmatch(r"\d{1,10}", texts[name]) or not 1 <= int(texts[name]) <= most:
            yield f"{name}: '{texts[name]}' is not a whole number from 1 to {most}"
    if not texts["directory"].startswith("/") or "@" in texts["directory"]:
        why = f"expected an absolute path without @, which separates paths in {tool}"
        yield f"directory: '{texts['directory']}': {why}"
    if not addresses_fit(texts["addresses"]):
        allowed = "auto, a network such as 10.0.0.0/24, or h1=10.0.0.1,h2=10.0.0.2"
        yield f"addresses: '{texts['addresses']}' is not one of: {allowed}"
    if not re.fullmatch(r"[A-Za-z0-9._/+-]+", texts["program"]):
        yield (
            f"program: '{texts['program']}' is not a program name or path of letters, digits and"
            " . _ / + -"
        )


def flag_problems(texts: Mapping[str, str], names: Iterable[str]) -> Iterator[str]:
    """Yield a problem for each key that is neither true nor false."""
    for name in names:
        if texts[name].lower() not in (*WORDS_TRUE, *WORDS_FALSE):
            yield f"{name}: '{texts[name]}' is neither true nor false"


def seconds_given(text: str) -> int:
    """Return whole seconds, from 60, 60.0 or 60s; -1 if not a whole number from 0 to LONGEST_S."""
    try:
        seconds = parse_duration(text)
    except ValueError:
        return -1
    return int(seconds) if seconds.is_integer() and 0 <= seconds <= LONGEST_S else -1


def seconds_problem(texts: Mapping[str, str], name: str, least: int) -> Iterator[str]:
    """Yield a problem if a key is not a whole number of seconds from `least` to LONGEST_S."""
    if seconds_given(texts[name]) < least:
        yield (
            f"{name}: '{texts[name]}' is not a whole number of seconds from {least} to {LONGEST_S}"
        )


def addresses_fit(text: str) -> bool:
    """Return whether a text is a valid selection of the addresses at which hosts reach each
    other.
    """
    try:
        if "=" in text:
            for pair in text.split(","):
                ipaddress.ip_address(pair.split("=", 1)[1].strip())
        elif text != "auto":
            ipaddress.ip_network(text, strict=False)
    except (ValueError, IndexError):
        return False
    return True


def launcher_text(launch: MpiLaunch, tool: str) -> str:
    """Return how ranks are started on the hosts, as text."""
    family = f"the MPI that {tool} was built with" if launch.family == "auto" else launch.family
    if launch.launcher == "plain":
        return f"{family}; mpiexec on the first host logs in to the others"
    return f"{family}; mpiexec on the first host, proxies over benchtui's connections"

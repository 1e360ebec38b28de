"""Plan an MPI program: check the profile keys that all MPI programs share, and describe the
launch.
"""

from __future__ import annotations

import ipaddress
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tui.model.plan import HostTask, MpiLaunch, Step
from tui.model.problem import Problem
from tui.model.profile import ParamValue, Profile, expand

if TYPE_CHECKING:
    from tui.workloads.mpi_body import MpiBody

OWN_DIRECTORY = "benchtui-RUN"  # what stands in a plan for the run's own directory
MOST_RANKS = 4096  # on one host
COUNTS = {"ranks_per_host": MOST_RANKS, "iterations": 10**4}


def launch_of(
    spec: MpiBody, texts: Mapping[str, str], values: Mapping[str, str], **own: Any
) -> MpiLaunch:
    """Return the launch of a checked profile.

    `own`: fields specific to the program.
    """
    return MpiLaunch(
        directory=posixpath.normpath(texts["directory"]),
        ranks_per_host=int(texts["ranks_per_host"]),
        program=texts["program"],
        family=spec.mpi,
        launcher=spec.launcher,
        addresses=texts["addresses"],
        env={name: expand(value, values) for name, value in spec.env.items()},
        **own,
    )


def step_of(
    profile: Profile,
    params: Mapping[str, ParamValue],
    launch: MpiLaunch,
    tasks: Sequence[HostTask],
    phases: Sequence[str],
) -> Step:
    """Return the step of a profile; if it moves data, each rank has one I/O in flight."""
    return Step(
        index=0,
        name=profile.profile,
        tool=profile.tool,
        params=dict(params),
        tasks=list(tasks),
        runtime_s=None,
        directions=list(phases),
        in_flight=launch.ranks(len(tasks)) if launch.bytes_per_op else None,
        mpi=launch,
    )


def launch_problems(
    tag: str, tool: str, texts: Mapping[str, str], counts: Mapping[str, int] = COUNTS
) -> Iterator[Problem]:
    """Yield problems of keys that all MPI programs share.

    `counts`: maximum of each integer key.
    """
    for name, most in counts.items():
        if not re.fullmatch(r"\d{1,10}", texts[name]) or not 1 <= int(texts[name]) <= most:
            yield Problem(
                f"{tag}: {tool}.{name}: '{texts[name]}' is not a whole number from 1 to {most}"
            )
    if not texts["directory"].startswith("/") or "@" in texts["directory"]:
        why = f"expected an absolute path without @, which separates paths in {tool}"
        yield Problem(f"{tag}: {tool}.directory: '{texts['directory']}': {why}")
    if not addresses_fit(texts["addresses"]):
        allowed = "auto, a network such as 10.0.0.0/24, or h1=10.0.0.1,h2=10.0.0.2"
        yield Problem(f"{tag}: {tool}.addresses: '{texts['addresses']}' is not one of: {allowed}")
    if not re.fullmatch(r"[A-Za-z0-9._/+-]+", texts["program"]):
        yield Problem(
            f"{tag}: {tool}.program: '{texts['program']}' is not a program name or path of letters,"
            " digits and . _ / + -"
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

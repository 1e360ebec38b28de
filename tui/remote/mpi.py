"""MPI facts of a host, and MPI-related calls of its agent (mpi.sh)."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from tui.model.hostfacts import boot_of
from tui.remote.agent import Agent
from tui.remote.answers import AgentAnswer, as_int

Family = Literal["mpich", "openmpi", "intel"]
TIMEOUT_S = 60.0
LAUNCHERS: Mapping[Family, tuple[str, ...]] = {
    "mpich": ("mpiexec.hydra", "mpiexec.mpich", "mpiexec"),
    "openmpi": ("mpirun.openmpi", "mpirun", "mpiexec"),
    "intel": ("mpiexec.hydra", "mpiexec"),
}


class Launcher(Struct, frozen=True):
    """An mpiexec on a host: its path, and the MPI family and version it prints."""

    path: str
    family: Family
    version: str


class MpiFacts(Struct, frozen=True):
    """MPI facts of one host."""

    hostname: str
    boot_id: str
    user: str
    root: bool
    cpus: int | None
    ssh_address: str
    interfaces: tuple[str, ...]  # addresses with prefix length, as printed by ip
    launchers: tuple[Launcher, ...]
    proxies: Mapping[str, str]  # paths of hydra_pmi_proxy and orted
    program: str
    checksum: str
    library: str
    missing: str
    not_executable: bool
    running: int
    free_inodes: int | None
    free_bytes: int | None
    old: tuple[str, ...]  # left in the directory by older runs
    os: str = ""  # the distribution's name

    @property
    def addresses(self) -> tuple[str, ...]:
        """The host's IP addresses."""
        return tuple(each.partition("/")[0] for each in self.interfaces)

    def network_of(self, address: str) -> str:
        """Return the network of one of the host's addresses, such as 10.0.0.0/24."""
        found = (ipaddress.ip_interface(each) for each in self.interfaces)
        own = next((each for each in found if str(each.ip) == address and "/" in str(each)), None)
        return str((own or ipaddress.ip_interface(address)).network)

    @property
    def family(self) -> Family | None:
        """MPI family of the library that the program is linked with; None if unknown."""
        return library_family(self.library)

    def launcher(self, family: str) -> Launcher | None:
        """Return the host's launcher of an MPI family, the one with the most specific name; None if
        there is none.
        """
        return next((each for each in self.launchers if each.family == family), None)


async def probe(agent: Agent, directory: str, program: str) -> MpiFacts:
    """Return the MPI facts of a host. Raises HostError."""
    return parse_facts((await call(agent, "probe", directory, program)).values)


async def mark_directory(agent: Agent, directory: str, name: str) -> None:
    """Create a file in the directory, for other hosts to look for. Raises HostError."""
    await call(agent, "mark", directory, name)


async def unmark_directory(agent: Agent, directory: str, name: str) -> None:
    """Remove the file created by `mark_directory`. Raises HostError."""
    await call(agent, "unmark", directory, name)


async def sees(agent: Agent, directory: str, name: str) -> tuple[bool, str]:
    """Return whether the file is visible on this host, and why files cannot be created next to it.

    The reason is empty if they can.
    """
    values = (await call(agent, "see", directory, name)).values
    return bool(values.get("seen")), values.get("cannot_write", "")


async def write_file(agent: Agent, directory: str, name: str, text: str) -> None:
    """Write an input file for rank 0. Raises HostError."""
    await call(agent, "write", directory, name, text)


async def ranks(agent: Agent) -> tuple[int, list[int]]:
    """Return the number of this run's ranks on a host, and the pids of those stuck in the
    kernel.
    """
    values = (await call(agent, "ranks", agent.run_id, agent.mark)).values
    return int(values.get("ranks") or 0), [int(pid) for pid in values.get("stuck", "").split()]


async def make_scratch(agent: Agent) -> str:
    """Create the run's directory in shared memory, with a subdirectory for this host; return its
    path.

    Empty if the host has no place for it.
    """
    return (await call(agent, "scratch", agent.run_id, agent.mark)).values.get("scratch", "")


async def call(
    agent: Agent, command: str, *words: str, timeout_s: float = TIMEOUT_S
) -> AgentAnswer:
    """Call a function of mpi.sh. Raises HostError."""
    return await agent.call(f"mpi_{command}", *words, timeout_s=timeout_s)


def parse_facts(values: Mapping[str, str]) -> MpiFacts:
    """Parse MPI facts from a probe's answer."""
    return MpiFacts(
        hostname=values.get("hostname", ""),
        boot_id=boot_of(values),
        user=values.get("user", ""),
        root=values.get("uid") == "0",
        cpus=as_int(values.get("cpus", "")),
        ssh_address=values.get("ssh_address", ""),
        interfaces=tuple(each for each in values.get("addresses", "").split() if is_address(each)),
        launchers=tuple(launchers(values)),
        proxies={name: values[name] for name in ("hydra_pmi_proxy", "orted") if values.get(name)},
        program=values.get("program", ""),
        checksum=values.get("sum", ""),
        library=values.get("library", ""),
        missing=values.get("missing", ""),
        not_executable=bool(values.get("not_executable")),
        running=as_int(values.get("running", "")) or 0,
        free_inodes=as_int(values.get("free_inodes", "")),
        free_bytes=None if (kib := as_int(values.get("free_kib", ""))) is None else kib * 1024,
        old=tuple(values.get("old", "").split()),
        os=values.get("os", ""),
    )


def launchers(values: Mapping[str, str]) -> list[Launcher]:
    """Parse the launchers of a host, most specific names first."""
    names = dict.fromkeys(name for names in LAUNCHERS.values() for name in names)
    texts = {name: values[f"launcher.{name}"] for name in names if f"launcher.{name}" in values}
    parsed = {name: launcher(text) for name, text in texts.items()}
    return [each for each in parsed.values() if each is not None]


def launcher(text: str) -> Launcher | None:
    """Parse a launcher from its path and --version output; None if it is another program."""
    path, _, output = text.partition("|")
    for family, pattern in (
        ("intel", r"Intel\(R\) MPI Library.*?Version (\S+)"),
        ("mpich", r"HYDRA build details:.*?Version: *(\S+)"),
        ("openmpi", r"\((?:OpenRTE|Open MPI)\) (\S+)"),
    ):
        if match := re.search(pattern, output):
            return Launcher(path, family, match[1])  # type: ignore[arg-type]  # one of the three above
    return None


def library_family(library: str) -> Family | None:
    """Return the MPI family of a library in ldd's output; None if unknown.

    A path with openmpi, and libmpi.so.20 and .40, are Open MPI; a path with intel or /impi is Intel
    MPI; any other libmpi or libmpich is MPICH.
    """
    if "openmpi" in library or re.search(r"\blibmpi\.so\.(20|40)\b", library):
        return "openmpi"
    if "intel" in library.lower() or "/impi" in library:
        return "intel"
    return "mpich" if re.search(r"\blibmpi(ch)?\.so", library) else None


def is_address(text: str) -> bool:
    """Return whether a text is an IP address, with or without a prefix length."""
    try:
        ipaddress.ip_interface(text)
    except ValueError:
        return False
    return True

"""MPI on the hosts: library, launcher, whether hosts match, how ranks are launched."""

from __future__ import annotations

import ipaddress
import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tui import workloads
from tui.engine.preflight.destroy import Problem
from tui.model.operands import Clause, Told, clause
from tui.model.plan import MpiLaunch, Plan, Step
from tui.remote import mpi
from tui.remote.mpi import Family, Launcher, MpiFacts, is_address
from tui.text.problem_texts import problem_text
from tui.workloads.mpi import MpiProgram, Tried

if TYPE_CHECKING:
    from tui.model.hostfacts import Fact
    from tui.remote.agent import Agent

PROXY: Mapping[Family, str] = {
    "mpich": "hydra_pmi_proxy",
    "intel": "hydra_pmi_proxy",
    "openmpi": "orted",
}
PACKAGE: Mapping[Family, str] = {"mpich": "MPICH", "openmpi": "Open MPI", "intel": "Intel MPI"}
HOST_FILE, LAUNCH_FILE = "hosts", "launch.sh"
LAUNCH_SCRIPT = (
    "# prints the proxy that mpirun requests and its host; benchtui starts it\n"
    "printf 'BT-LAUNCH %s\\n' \"$*\"\n"
)
# Open MPI keeps files under TMPDIR by hostname: two hosts on one machine must not share
# them, and none may remain.
OWN_TMP = ["/bin/sh", "-c", 'TMPDIR=$PWD exec "$@"', "mpi"]
SHARED_MEMORY = "OMPI_MCA_btl_vader_backing_directory"
NEWEST_OPENMPI = 4  # Open MPI 5 uses another runtime


@dataclass
class Cluster:
    """Hosts in rank order, head first. `tried` is the result of a trial, empty before it."""

    tool: str
    program: MpiProgram
    facts: Mapping[str, MpiFacts]
    family: Family
    addresses: Mapping[str, str] = field(default_factory=dict)
    tried: Tried = field(default_factory=Tried)
    # the run's directory for shared memory, with a subdirectory per host
    scratch: str = ""

    @property
    def launch(self) -> MpiLaunch:
        """The program to launch and its settings."""
        return self.program.launch

    @property
    def hosts(self) -> list[str]:
        """Names of the hosts in rank order."""
        return list(self.facts)

    @property
    def head(self) -> str:
        """Name of the host that runs mpiexec."""
        return self.hosts[0]

    @property
    def launcher(self) -> Launcher | None:
        """The head's mpiexec; None if it has none."""
        return self.facts[self.head].launcher(self.family)

    @property
    def mpi(self) -> str:
        """Name of the MPI, with the version that the head's mpiexec prints."""
        version = self.launcher.version if self.launcher else ""
        return f"{PACKAGE[self.family]} {version}".rstrip()

    @property
    def path(self) -> str:
        """The program's path, equal on all hosts."""
        return self.facts[self.head].program

    @property
    def nodes(self) -> list[int]:
        """Node counts that the program may report: from the trial, else of hosts or hostnames."""
        return [self.tried.nodes] if self.tried.nodes else sorted({len(self.facts), self.machines})

    @property
    def machines(self) -> int:
        """Number of distinct hostnames; several hosts of a run may be one machine."""
        return len({facts.hostname for facts in self.facts.values()})

    @property
    def by_proxy(self) -> bool:
        """Whether benchtui starts the proxies."""
        return self.launch.launcher == "benchtui"


def family_of(launch: MpiLaunch, head: MpiFacts) -> Family:
    """Return the MPI family to launch with: the requested one, else the family of the program's
    library, else MPICH if the head has its launcher, else Open MPI.
    """
    if launch.family != "auto":
        return launch.family
    return head.family or ("mpich" if head.launcher("mpich") else "openmpi")


def judge(cluster: Cluster) -> dict[str, list[Problem]]:
    """Return, by host, the reasons why the host cannot take part; hosts without problems are
    omitted.
    """
    found = {
        host: [*_host_problems(cluster, host), *_pair_problems(cluster, host)]
        for host in cluster.hosts
    }
    return {host: problems for host, problems in found.items() if problems}


def _host_problems(cluster: Cluster, host: str) -> Iterator[Problem]:
    facts, family, tool = cluster.facts[host], cluster.family, cluster.tool
    wanted = cluster.launch.program
    if facts.not_executable:
        told = clause("not-executable", program=wanted, user=facts.user)
        yield f"{tool}-unusable", told
    elif not facts.program:
        yield f"{tool}-missing", clause("mpi-program-missing", program=wanted, user=facts.user)
    if facts.missing:
        told = clause("libraries-missing", program=facts.program, quote=facts.missing)
        yield f"{tool}-unusable", told
    if facts.family not in (None, family):
        built = PACKAGE[facts.family] if facts.family else ""
        told = clause("mpi-mixed", program=facts.program, built=built, mpi=PACKAGE[family])
        yield "mpi-mixed", told
    yield from _launcher_problems(cluster, host)
    need = cluster.program.inodes(len(cluster.facts))
    if facts.free_inodes is not None and 0 < facts.free_inodes < need:
        where = cluster.launch.directory
        told = clause("no-inodes", need=need, free=facts.free_inodes, directory=where)
        yield "no-inodes", told
    launch = cluster.launch
    space = launch.ranks(len(cluster.facts)) * launch.items * launch.bytes_per_op
    if facts.free_bytes is not None and facts.free_bytes < space:
        where, free = launch.directory, facts.free_bytes
        told = clause("no-space-in", need_bytes=space, free_bytes=free, directory=where)
        yield "no-space", told


def _launcher_problems(cluster: Cluster, host: str) -> Iterator[Problem]:
    facts, family = cluster.facts[host], cluster.family
    package, proxy = PACKAGE[family], PROXY[family]
    launcher = facts.launcher(family)
    if host == cluster.head and launcher is None:
        others = [
            *dict.fromkeys(f"{PACKAGE[each.family]} {each.version}" for each in facts.launchers)
        ]
        name = family if family != "intel" else ""
        told = clause("mpiexec-missing", mpi=package, others=others, os=facts.os, package=name)
        yield "mpi-missing", told
    elif proxy not in facts.proxies and family != "intel":
        told = clause(
            "proxy-missing",
            proxy=proxy,
            mpi=package,
            head=cluster.head,
            os=facts.os,
            package=family,
        )
        yield "mpi-missing", told
    if family == "intel" and cluster.by_proxy:
        yield "mpi-family", clause("starts-proxies", mpi=package)
    if (
        family == "openmpi"
        and launcher
        and major(launcher.version) > NEWEST_OPENMPI
        and cluster.by_proxy
    ):
        yield "mpi-family", clause("starts-daemons", mpi=f"{package} {launcher.version}")


def _pair_problems(cluster: Cluster, host: str) -> Iterator[Problem]:
    """Yield problems from comparing a host with the head and with the hosts before it."""
    facts, head, tool = cluster.facts[host], cluster.facts[cluster.head], cluster.tool
    before = cluster.hosts[: cluster.hosts.index(host)]
    own, first, at_head = facts.launcher(cluster.family), cluster.launcher, cluster.head
    if own and first and own.version != first.version:
        told = clause(
            "mpi-version",
            mpi=PACKAGE[cluster.family],
            own=own.version,
            version=first.version,
            head=at_head,
        )
        yield "mpi-version", told
    if facts.program and head.program and facts.program != head.program:
        told = clause(
            "program-elsewhere", tool=tool, path=facts.program, other=head.program, head=at_head
        )
        yield f"{tool}-path", told
    elif facts.checksum != head.checksum and facts.program:
        yield f"{tool}-differs", clause("program-differs", path=facts.program, head=at_head)
    namesakes = [other for other in before if _is_namesake(cluster.facts[other], facts)]
    if namesakes:
        told = clause("hostname-not-unique", hostname=facts.hostname, hosts=namesakes)
        yield "hostname-not-unique", told
    at = cluster.addresses.get(host)
    there = [each for each in cluster.hosts if at and cluster.addresses.get(each) == at]
    if host in there[1:2]:  # one line for all of them
        others = [other for other in there if other != host]
        yield "mpi-address", clause("same-address", address=at, hosts=others)
    if host not in cluster.addresses:
        wanted = cluster.launch.addresses
        told = clause("no-address", wanted=wanted, addresses=list(facts.addresses))
        yield "mpi-address", told


def _is_namesake(one: MpiFacts, other: MpiFacts) -> bool:
    """Return whether two machines have the same hostname."""
    same_machine = one.boot_id and one.boot_id == other.boot_id
    return one.hostname == other.hostname and not same_machine


def warnings_by_host(cluster: Cluster) -> dict[str, list[Clause]]:
    """Return the warnings for each host; none of them prevents the run."""
    found: dict[str, list[Clause]] = {}
    ranks, where = cluster.launch.ranks_per_host, cluster.launch.directory
    for host, facts in cluster.facts.items():
        told = []
        if facts.cpus and facts.cpus < ranks:
            told.append(clause("ranks-share-cpus", ranks=ranks, cpus=facts.cpus))
        if facts.running:
            name = posixpath.basename(facts.program)
            told.append(clause("already-running", program=name, processes=facts.running))
        if facts.old and host == cluster.head:
            told.append(clause("left-by-earlier", directory=where, names=list(facts.old)))
        found |= {host: told} if told else {}
    return found


# -- addresses


def addresses_of(launch: MpiLaunch, facts: Mapping[str, MpiFacts]) -> dict[str, str]:
    """Return, by host, the address that the others can reach; hosts without one are omitted."""
    pairs = dict(
        pair.split("=", 1) for pair in launch.addresses.replace(" ", "").split(",") if "=" in pair
    )
    chosen = {
        host: pairs.get(host) or _address(launch.addresses, each, len(facts))
        for host, each in facts.items()
    }
    return {host: address for host, address in chosen.items() if address}


def _address(wanted: str, facts: MpiFacts, hosts: int) -> str:
    if "=" in wanted:
        return ""
    by_ssh = [facts.ssh_address] if _is_own(facts.ssh_address, facts) else []
    if wanted != "auto":
        network = ipaddress.ip_network(wanted, strict=False)
        return next(
            (each for each in (*by_ssh, *facts.addresses) if ipaddress.ip_address(each) in network),
            "",
        )
    if hosts == 1:
        return "127.0.0.1"
    if by_ssh:
        return facts.ssh_address
    return next((each for each in facts.addresses if _is_reachable(each)), "")


def _is_own(address: str, facts: MpiFacts) -> bool:
    """Return whether an address belongs to the host, including all of 127.0.0.0/8."""
    return address in facts.addresses or (is_address(address) and address.startswith("127."))


def _is_reachable(address: str) -> bool:
    parsed = ipaddress.ip_address(address)
    return parsed.version == 4 and not parsed.is_loopback and not parsed.is_link_local


def networks(cluster: Cluster) -> str:
    """Return the networks of the addresses for Open MPI, which lets each host find its
    interface.
    """
    if "/" in cluster.launch.addresses:
        return cluster.launch.addresses
    own = cluster.addresses.items()
    nets = (
        "127.0.0.0/8" if ipaddress.ip_address(a).is_loopback else cluster.facts[h].network_of(a)
        for h, a in own
    )
    return ",".join(dict.fromkeys(nets))


# -- commands


def host_file(cluster: Cluster, ranks_per_host: int) -> str:
    """Return the MPI host file with rank counts.

    Without counts, MPI distributes ranks round-robin.
    """
    count = f" slots={ranks_per_host}" if cluster.family == "openmpi" else f":{ranks_per_host}"
    return "".join(f"{cluster.addresses[host]}{count}\n" for host in cluster.hosts)


def mpiexec(
    cluster: Cluster,
    run_id: str,
    marks: Mapping[str, str],
    ranks_per_host: int,
    words: Sequence[str],
) -> list[str]:
    """Return the mpiexec command for the head.

    Passes on named environment variables only; `marks` are by host.
    """
    path = cluster.launcher.path if cluster.launcher else "mpiexec"
    if cluster.family == "openmpi":
        own = OWN_TMP if cluster.by_proxy else []
        return [*own, path, *_openmpi(cluster, run_id, marks, ranks_per_host, list(words))]
    return [path, *_hydra(cluster, run_id, marks, ranks_per_host, list(words))]


def _hydra(
    cluster: Cluster, run_id: str, marks: Mapping[str, str], ranks: int, words: list[str]
) -> list[str]:
    how = ["-launcher", "manual"] if cluster.by_proxy else ["-launcher", "ssh"]
    common = [*how, "-localhost", cluster.addresses[cluster.head], "-f", HOST_FILE, "-genvnone"]
    for name, value in {"BENCHTUI_RUN": run_id, **cluster.launch.env}.items():
        common += ["-genv", name, value]
    where = ["-wdir", "/tmp"]  # valid in its own section only
    if cluster.by_proxy:
        return [*common, *where, "-np", str(ranks * len(cluster.hosts)), *words]
    each = [
        [*where, "-np", str(ranks), "-env", "BENCHTUI_HOST", marks[host], *words]
        for host in cluster.hosts
    ]
    return [*common, *_sections(each)]


def _openmpi(
    cluster: Cluster, run_id: str, marks: Mapping[str, str], ranks: int, words: list[str]
) -> list[str]:
    common = ["--noprefix", "--bind-to", "none", "--hostfile", HOST_FILE]
    if cluster.by_proxy:
        common += ["--mca", "plm_rsh_agent", f"/bin/sh {LAUNCH_FILE}", "--leave-session-attached"]
    nets = networks(cluster)
    settings = {
        "plm_rsh_no_tree_spawn": "1",
        "oob_tcp_if_include": nets,
        "btl_tcp_if_include": nets,
    }
    settings |= {"btl": "tcp,self,vader", "pml": "ob1", "mpi_yield_when_idle": "1"}
    settings |= (
        {"orte_tmpdir_base": cluster.scratch} if cluster.scratch and not cluster.by_proxy else {}
    )
    common += [word for name, value in settings.items() for word in ("--mca", name, value)]
    common += ["--allow-run-as-root"] if cluster.facts[cluster.head].root else []
    parts = []
    for host in cluster.hosts:
        env = {"BENCHTUI_RUN": run_id, "BENCHTUI_HOST": marks[host], **cluster.launch.env}
        env |= {SHARED_MEMORY: f"{cluster.scratch}/{marks[host]}"} if cluster.scratch else {}
        place = ["--wdir", "/tmp", "-np", str(ranks), "-host", f"{cluster.addresses[host]}:{ranks}"]
        parts.append(
            [*place, *(word for pair in env.items() for word in ("-x", "=".join(pair))), *words]
        )
    return [*common, *_sections(parts)]


def _sections(parts: Sequence[list[str]]) -> list[str]:
    """Join the parts of one program with ":", as mpiexec expects."""
    return [word for index, part in enumerate(parts) for word in ([":"] if index else []) + part]


def proxy_of(cluster: Cluster, line: str) -> tuple[str, list[str]]:
    """Return the host and command of a proxy that mpiexec requests.

    Allows only the proxy found in preflight, with mpiexec's arguments, never through a shell.
    Raises ValueError for anything else.
    """
    words = shlex.split(line)
    name = PROXY[cluster.family]
    at = next((index for index, word in enumerate(words) if posixpath.basename(word) == name), None)
    if at is None or not line.isprintable():
        raise ValueError(f"mpiexec requests something other than {name}: {line[:200]}")
    rest = [word for word in words[at + 1 :] if word != "--daemonize"]
    if cluster.family == "openmpi":
        by_address = {address: host for host, address in cluster.addresses.items()}
        host = by_address.get(words[0], "")
    else:
        place = int(rest[rest.index("--proxy-id") + 1]) if "--proxy-id" in rest else -1
        host = cluster.hosts[place] if 0 <= place < len(cluster.hosts) else ""
    if not host:
        raise ValueError(f"mpiexec requests a proxy on a host outside this run: {line[:200]}")
    own = OWN_TMP if cluster.family == "openmpi" else []
    return host, [*own, cluster.facts[host].proxies[name], *rest]


def major(version: str) -> int:
    """Return the major number of a version; 0 if unknown."""
    match = re.match(r"\d+", version)
    return int(match[0]) if match else 0


def program_of(step: Step) -> MpiProgram:
    """Return the MPI program that a step launches."""
    return workloads.of(step).program(step)


def key_of(step: Step) -> str:
    """Return a key for checks and trials: equal for the same launch on the same hosts."""
    launch = program_of(step).launch
    return (
        f"{step.hosts} {launch.program} {launch.family} {launch.directory} "
        f"{launch.addresses} {launch.options}"
    )


def launches_of(steps: Iterable[Step]) -> dict[str, Step]:
    """Return the largest step of each distinct MPI launch, in order, by launch key."""
    found: dict[str, Step] = {}
    for step in (each for each in steps if each.mpi is not None):
        key = key_of(step)
        if key not in found or _operations(step) > _operations(found[key]):
            found[key] = step
    return found


def _operations(step: Step) -> int:
    launch = program_of(step).launch
    return launch.ranks(len(step.tasks)) * launch.items


def cluster_of(step: Step, facts: Mapping[str, MpiFacts]) -> Cluster:
    """Return the cluster for a step's program; the facts of its first host must be known."""
    program = program_of(step)
    family = family_of(program.launch, facts[step.hosts[0]])
    return Cluster(step.tool, program, facts, family, addresses_of(program.launch, facts))


def with_advice(plan: Plan, tool: str, problem: Problem) -> Told:
    """Return the message of a problem, with the load generator's advice."""
    code, told = problem
    others = any(step.tool != tool for step in plan.steps)
    advice = [clause("advice", tool=tool, about=code)] if workloads.get(tool).advice(code) else []
    advice += [clause("skip-missing")] if others and code == f"{tool}-missing" else []
    return clause("advised", quote=told, advice=advice) if advice else told


Seen = Mapping[str, mpi.MpiFacts]
"""MPI facts of a host, by load generator."""


def programs() -> dict[str, MpiProgram]:
    """Return the MPI programs to look for on hosts, by load generator."""
    simplest = {workload.name: workload.simplest() for workload in workloads.every()}
    return {name: program for name, program in simplest.items() if program is not None}


async def probe_programs(agent: Agent, directory: str) -> Seen:
    """Return the MPI facts of a host, by load generator. Raises HostError."""
    return {
        tool: await mpi.probe(agent, directory, each.launch.program)
        for tool, each in programs().items()
    }


def facts_of(seen: Seen) -> dict[str, Fact]:
    """Return MPI facts as host facts: path of the program, its MPI, available launchers."""
    found: dict[str, Fact] = {}
    for tool, facts in seen.items():
        found["mpi"] = ", ".join(
            dict.fromkeys(f"{PACKAGE[each.family]} {each.version}" for each in facts.launchers)
        )
        if facts.program:
            found |= {f"{posixpath.basename(programs()[tool].launch.program)}_path": facts.program}
            found |= {f"{tool}_mpi": PACKAGE[facts.family]} if facts.family else {}
    return {name: value for name, value in found.items() if value}


def notes(seen: Mapping[str, Seen]) -> dict[str, list[str]]:
    """Return, by host, the problems and warnings that a run over all these hosts would report.

    The first host that has a program also gets a note that further checks need a trial launch.
    Programs that no host has are left out.
    """
    # tools by text: what is true of several of them is one line
    found: dict[str, dict[str, list[str]]] = {host: {} for host in seen}
    for tool, program in programs().items():
        facts = {host: each[tool] for host, each in seen.items() if tool in each}
        having = [host for host in facts if facts[host].program]
        if not having:
            continue
        # one that has it leads, as in a run
        ordered = {host: facts[host] for host in (*having, *facts)}
        cluster = Cluster(
            tool,
            program,
            ordered,
            family_of(program.launch, facts[having[0]]),
            addresses_of(program.launch, ordered),
        )
        problems, doubtful = judge(cluster), warnings_by_host(cluster)
        for host in facts:
            messages = [told for _, told in problems.get(host, [])]
            for told in (*messages, *doubtful.get(host, [])):
                found[host].setdefault(problem_text(told), []).append(tool)
        found[having[0]].setdefault(problem_text(clause("left-to-trial")), []).append(tool)
    return {
        host: [f"{', '.join(tools)}: {text}" for text, tools in texts.items()]
        for host, texts in found.items()
    }

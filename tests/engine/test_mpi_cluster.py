"""Hosts of an MPI program: what is wrong with them before it starts, and how it is launched."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from tui.engine.inputs.profiles import Catalogue
from tui.engine.plan.plan import Choices, build_plan
from tui.engine.preflight.mpi_hosts import (
    Cluster,
    addresses_of,
    family_of,
    host_file,
    judge,
    launches_of,
    mpiexec,
    networks,
    proxy_of,
    warnings_by_host,
)
from tui.engine.preflight.preview import mpi_answers
from tui.model.address import HostAddress
from tui.model.plan import HostTask, MpiLaunch, Step
from tui.remote.mpi import MpiFacts, launcher, library_family, parse_facts
from tui.text.problem_texts import problem_text
from tui.workloads.mdtest.program import MdtestProgram

LAUNCH = MpiLaunch("/mnt/x", 136, 18382, 3, options=("-F", "-u"))
HYDRA = "/usr/bin/mpiexec.hydra|HYDRA build details: Version: 4.0.2 Release Date: Thu Apr 7"
OLDER = HYDRA.replace("4.0.2", "3.4.1")
OMPI = "/usr/bin/mpirun.openmpi|mpirun.openmpi (OpenRTE) 4.1.4 Report bugs to"
RECORDED = Path(__file__).parents[1] / "data" / "mdtest" / "openmpi-plm_rsh_agent.log"


def facts(number: int, **changed: str) -> MpiFacts:
    values = {
        "hostname": f"node{number}",
        "boot_id": f"boot{number}",
        "user": "me",
        "uid": "1000",
        "cpus": "192",
        "ssh_address": f"10.0.0.{number}",
        "addresses": f"127.0.0.1/8 10.0.0.{number}/24 192.168.7.{number}/16 fe80::1/64",
        "launcher.mpiexec.hydra": HYDRA,
        "hydra_pmi_proxy": "/usr/bin/hydra_pmi_proxy",
        "program": "/usr/bin/mdtest",
        "sum": "1 2",
        "library": "libmpich.so.12 => /lib/x86_64-linux-gnu/libmpich.so.12 (0x1)",
        "free_inodes": "99999999999",
    }
    return parse_facts(values | changed)


def openmpi(number: int, **changed: str) -> MpiFacts:
    library = "libmpi.so.40 => /lib/x86_64-linux-gnu/libmpi.so.40 (0x1)"
    own = {
        "launcher.mpiexec.hydra": "",
        "launcher.mpirun.openmpi": OMPI,
        "orted": "/usr/bin/orted",
        "library": library,
    }
    return facts(number, **(own | changed))


def cluster(*hosts: MpiFacts, launch: MpiLaunch = LAUNCH) -> Cluster:
    named = {f"h{number}": each for number, each in enumerate(hosts, start=1)}
    program = MdtestProgram(Step(0, "x", "mdtest", {}, [], None, mpi=launch), launch)
    return Cluster(
        "mdtest", program, named, family_of(launch, hosts[0]), addresses_of(launch, named)
    )


def test_alike_hosts_are_fine() -> None:
    assert judge(cluster(facts(1), facts(2))) == {}


@pytest.mark.parametrize(
    ("second", "code", "text"),
    [
        (
            facts(2, program=""),
            "mdtest-missing",
            "mdtest not found by me",
        ),
        (facts(2, program="", not_executable="/x"), "mdtest-unusable", "not executable"),
        (
            facts(2, missing="libmpich.so.12 => not found"),
            "mdtest-unusable",
            "libmpich.so.12",
        ),
        (openmpi(2), "mpi-mixed", "was built with Open MPI, but the run uses MPICH"),
        (
            facts(2, hydra_pmi_proxy=""),
            "mpi-missing",
            "hydra_pmi_proxy not found; install MPICH as on h1",
        ),
        (
            facts(2, **{"launcher.mpiexec.hydra": OLDER}),
            "mpi-version",
            "MPICH 3.4.1 here, 4.0.2 on h1",
        ),
        (
            facts(2, program="/opt/mdtest"),
            "mdtest-path",
            "mdtest is /opt/mdtest here, /usr/bin/mdtest on h1",
        ),
        (facts(2, sum="3 4"), "mdtest-differs", "differs from the build on h1"),
        (facts(2, hostname="node1"), "hostname-not-unique", "has the same hostname node1 as h1"),
        (
            facts(2, ssh_address="10.0.0.1", addresses="10.0.0.1/24"),
            "mpi-address",
            "has the same address 10.0.0.1 as h1",
        ),
        (
            facts(2, ssh_address="", addresses="127.0.0.1/8"),
            "mpi-address",
            "no address for MPI (auto)",
        ),
        (
            facts(2, free_inodes="1000"),
            "no-inodes",
            "5000178 inodes are required, but only 1000 are free",
        ),
    ],
)
def test_what_is_wrong_with_a_host_is_named(second: MpiFacts, code: str, text: str) -> None:
    found = judge(cluster(facts(1), second))
    assert list(found) in (["h2"], ["h1", "h2"])
    messages = dict(found["h2"])
    assert text in problem_text(messages[code])


def test_space_for_the_bytes_of_all_ranks_is_needed() -> None:
    moving = replace(LAUNCH, ranks_per_host=2, items=16, bytes_per_op=1 << 20)
    enough, short = str(2 * 2 * 16 * 1024), str(2 * 2 * 16 * 1024 - 1)
    assert judge(cluster(facts(1, free_kib=enough), facts(2), launch=moving)) == {}
    found = judge(cluster(facts(1, free_kib=short), facts(2), launch=moving))["h1"]
    assert [(code, problem_text(told).split(",")[0]) for code, told in found] == [
        ("no-space", "64 MiB required")
    ]


def test_of_steps_that_differ_in_ranks_alone_the_largest_is_looked_at() -> None:
    hosts = [HostTask(f"h{number}", 0, "", []) for number in (1, 2)]
    steps = [
        Step(0, "x", "mdtest", {}, hosts, None, mpi=replace(LAUNCH, ranks_per_host=each))
        for each in (2, 8, 4)
    ]
    other = Step(0, "x", "mdtest", {}, hosts, None, mpi=replace(LAUNCH, directory="/mnt/y"))
    assert list(launches_of([*steps, other]).values()) == [steps[1], other]


def test_hosts_with_one_boot_id_are_one_machine() -> None:
    assert judge(cluster(facts(1, boot_id="b"), facts(2, hostname="node1", boot_id="b"))) == {}
    unknown = judge(
        cluster(facts(1, boot_id="unknown"), facts(2, hostname="node1", boot_id="unknown"))
    )
    assert [code for code, _ in unknown["h2"]] == ["hostname-not-unique"]


def test_a_head_without_mpiexec_says_what_there_is() -> None:
    several = {"launcher.mpiexec": OMPI, "launcher.mpirun.openmpi": OMPI, "launcher.mpirun": OMPI}
    head = facts(1, **({"launcher.mpiexec.hydra": ""} | several))
    found = dict(judge(cluster(head, facts(2)))["h1"])
    assert problem_text(found["mpi-missing"]) == "MPICH: mpiexec not found; found: Open MPI 4.1.4"


def test_a_missing_mpi_is_reported_with_the_package_of_the_distribution() -> None:
    debian = "Debian GNU/Linux 12 (bookworm)"
    head = openmpi(1, os=debian, **{"launcher.mpirun.openmpi": ""})
    found = judge(cluster(head, openmpi(2, os=debian, orted="")))
    assert [
        problem_text(dict(found[host])["mpi-missing"]).rpartition(": ")[2] for host in found
    ] == ["apt-get install openmpi-bin"] * 2


def test_intel_mpi_is_for_the_plain_way_only() -> None:
    intel = "libmpi.so.12 => /opt/intel/mpi/lib/libmpi.so.12 (0x1)"
    found = dict(judge(cluster(facts(1, library=intel)))["h1"])
    assert "launcher: plain" in problem_text(found["mpi-family"])


def test_too_few_cpus_and_leftovers_are_reported_and_hinder_nobody() -> None:
    told = warnings_by_host(cluster(facts(1, cpus="64", old="benchtui-1 test-dir.0-0"), facts(2)))
    assert {host: [*map(problem_text, each)] for host, each in told.items()} == {
        "h1": [
            "136 ranks share 64 CPUs; waiting ranks spin",
            "left by earlier runs in /mnt/x: benchtui-1, test-dir.0-0",
        ]
    }


@pytest.mark.parametrize(
    ("said", "family", "version"),
    [
        (HYDRA, "mpich", "4.0.2"),
        (OMPI, "openmpi", "4.1.4"),
        ("/x/mpirun|mpirun (Open MPI) 5.0.3", "openmpi", "5.0.3"),
        (
            "/x/mpiexec|Intel(R) MPI Library for Linux* OS, Version 2021.11 Build 20231005",
            "intel",
            "2021.11",
        ),
    ],
)
def test_a_launcher_is_known_by_what_it_says(said: str, family: str, version: str) -> None:
    found = launcher(said)
    assert found is not None and (found.family, found.version) == (family, version)


@pytest.mark.parametrize(
    ("library", "family"),
    [
        ("libmpich.so.12 => /lib/libmpich.so.12", "mpich"),
        ("libmpi.so.12 => /usr/lib64/mpich/lib/libmpi.so.12", "mpich"),
        ("libmpi.so.40 => /lib/libmpi.so.40", "openmpi"),
        ("libmpi.so.12 => /opt/intel/oneapi/mpi/lib/libmpi.so.12", "intel"),
        ("", None),
    ],
)
def test_a_program_is_known_by_its_library(library: str, family: str | None) -> None:
    assert library_family(library) == family


# -- addresses


def test_hosts_reach_each_other_where_ssh_reached_them() -> None:
    assert cluster(facts(1), facts(2)).addresses == {"h1": "10.0.0.1", "h2": "10.0.0.2"}


def test_a_network_chooses_among_addresses() -> None:
    found = cluster(facts(1), facts(2), launch=MpiLaunch("/x", 1, 1, 1, addresses="192.168.0.0/16"))
    assert found.addresses == {"h1": "192.168.7.1", "h2": "192.168.7.2"}


def test_addresses_can_be_given_by_host() -> None:
    found = cluster(
        facts(1), facts(2), launch=MpiLaunch("/x", 1, 1, 1, addresses="h1=127.0.0.2, h2=127.0.0.3")
    )
    assert found.addresses == {"h1": "127.0.0.2", "h2": "127.0.0.3"}


def test_one_host_needs_no_network() -> None:
    assert cluster(facts(1)).addresses == {"h1": "127.0.0.1"}


def test_open_mpi_is_told_networks_because_interfaces_have_other_names_everywhere() -> None:
    assert networks(cluster(openmpi(1), openmpi(2))) == "10.0.0.0/24"


# -- commands


def test_hydra_gets_nothing_of_the_environment_but_what_is_named() -> None:
    launch = replace_env(LAUNCH, {"UCX_NET_DEVICES": "eth0"})
    argv = mpiexec(
        cluster(facts(1), facts(2), launch=launch),
        "RUN",
        {"h1": "h1", "h2": "h2"},
        136,
        ["/usr/bin/mdtest"],
    )
    text = " ".join(argv)
    assert (
        text
        == "/usr/bin/mpiexec.hydra -launcher manual -localhost 10.0.0.1 -f hosts -genvnone -genv"
        " BENCHTUI_RUN RUN -genv UCX_NET_DEVICES eth0 -wdir /tmp -np 272 /usr/bin/mdtest"
    )


def replace_env(launch: MpiLaunch, env: dict[str, str]) -> MpiLaunch:
    return MpiLaunch(
        launch.directory, launch.ranks_per_host, launch.items, launch.iterations, env=env
    )


def test_the_plain_way_marks_the_ranks_of_each_host() -> None:
    launch = MpiLaunch("/x", 2, 1, 1, launcher="plain")
    text = " ".join(
        mpiexec(cluster(facts(1), facts(2), launch=launch), "R", {"h1": "a", "h2": "b"}, 2, ["m"])
    )
    assert "-launcher ssh" in text
    assert text.endswith(
        "-wdir /tmp -np 2 -env BENCHTUI_HOST a m : -wdir /tmp -np 2 -env BENCHTUI_HOST b m"
    )


def test_the_plain_way_of_open_mpi_names_the_directory_for_each_host() -> None:
    launch = MpiLaunch("/x", 2, 1, 1, launcher="plain")
    text = " ".join(
        mpiexec(
            cluster(openmpi(1), openmpi(2), launch=launch), "R", {"h1": "a", "h2": "b"}, 2, ["m"]
        )
    )
    assert [part.count("--wdir /tmp") for part in text.split(" : ")] == [1, 1]


def test_ranks_fill_host_after_host() -> None:
    assert host_file(cluster(facts(1), facts(2)), 136) == "10.0.0.1:136\n10.0.0.2:136\n"
    assert (
        host_file(cluster(openmpi(1), openmpi(2)), 136)
        == "10.0.0.1 slots=136\n10.0.0.2 slots=136\n"
    )


def test_root_may_run_open_mpi() -> None:
    as_root = mpiexec(cluster(openmpi(1, uid="0")), "R", {"h1": "h1"}, 1, ["m"])
    assert "--allow-run-as-root" in as_root
    assert "--allow-run-as-root" not in mpiexec(cluster(openmpi(1)), "R", {"h1": "h1"}, 1, ["m"])


def test_hydra_names_a_host_by_its_place() -> None:
    line = "/opt/other/hydra_pmi_proxy --control-port 10.0.0.1:38537 --rmk user --proxy-id 1 "
    host, argv = proxy_of(cluster(facts(1), facts(2)), line)
    assert (host, argv[0], argv[-2:]) == ("h2", "/usr/bin/hydra_pmi_proxy", ["--proxy-id", "1"])


def test_open_mpi_names_a_host_by_its_address_and_stays_in_the_foreground() -> None:
    recorded = RECORDED.read_text().splitlines()[0].removeprefix("AGENT: ")
    found = cluster(
        openmpi(1),
        openmpi(2),
        launch=MpiLaunch("/x", 1, 1, 1, addresses="h1=10.99.0.11,h2=10.99.0.12"),
    )
    host, argv = proxy_of(found, recorded)
    assert host == "h1" and "/usr/bin/orted" in argv and "--daemonize" not in argv


@pytest.mark.parametrize(
    "line",
    [
        "/bin/rm -rf /",
        "/usr/bin/hydra_pmi_proxy --proxy-id 7",
        "/usr/bin/hydra_pmi_proxy",
        "sh -c hydra_pmi_proxy\x1b",
    ],
)
def test_nothing_but_a_proxy_on_a_host_of_the_run_is_started(line: str) -> None:
    with pytest.raises(ValueError, match="mpiexec requests"):
        proxy_of(cluster(facts(1), facts(2)), line)


def test_open_mpi_keeps_its_files_where_the_run_removes_them() -> None:
    found = cluster(openmpi(1), openmpi(2))
    found.scratch = "/dev/shm/benchtui-R"
    text = " ".join(mpiexec(found, "R", {"h1": "a", "h2": "b"}, 2, ["m"]))
    assert text.startswith("/bin/sh -c TMPDIR=$PWD exec")
    parts = text.split(" : ")
    memory = [
        f"-x OMPI_MCA_btl_vader_backing_directory=/dev/shm/benchtui-R/{mark} m"
        for mark in ("a", "b")
    ]
    assert [part.endswith(each) for part, each in zip(parts, memory, strict=True)] == [True, True]


def test_where_open_mpi_logs_in_itself_its_daemons_are_told_that_directory() -> None:
    found = cluster(openmpi(1), openmpi(2), launch=MpiLaunch("/x", 2, 1, 1, launcher="plain"))
    found.scratch = "/dev/shm/benchtui-R"
    assert "--mca orte_tmpdir_base /dev/shm/benchtui-R" in " ".join(
        mpiexec(found, "R", {"h1": "a", "h2": "b"}, 2, [])
    )


@pytest.mark.parametrize("wanted", ["auto", "127.0.0.0/8"])
def test_hosts_that_ssh_reaches_at_addresses_of_the_loopback_network_are_distinguished(
    wanted: str,
) -> None:
    """Interfaces show 127.0.0.1/8 alone; every host has all of it."""
    hosts = {
        f"h{n}": facts(n, ssh_address=f"127.0.1.{n}", addresses="127.0.0.1/8 10.0.0.9/24")
        for n in (2, 3)
    }
    found = addresses_of(MpiLaunch("/x", 2, 1, 1, addresses=wanted), hosts)
    assert found == {"h2": "127.0.1.2", "h3": "127.0.1.3"}


def test_the_look_ahead_tells_what_the_preflight_of_an_mpi_program_will(tmp_path: Path) -> None:
    hosts = [HostAddress(name="h1"), HostAddress(name="h2")]
    plan = build_plan(Catalogue(tmp_path).load("weka/mdtest"), Choices(hosts=hosts))
    (key,) = launches_of(plan.steps)
    one, two = (
        facts(number, ssh_address="127.0.0.1", addresses="127.0.0.1/8") for number in (1, 2)
    )
    (said, problems), (_, others) = mpi_answers(plan, {"h1": {key: one}, "h2": {key: two}}).values()
    assert said == ["/usr/bin/mdtest", "MPICH 4.0.2"] and problems == []
    (only,) = others
    assert only.startswith("has the same address 127.0.0.1 as h1; ") and "addresses" in only
    assert mpi_answers(plan, {"h2": {key: two}}) == {}, (
        "without the first host nothing can be compared"
    )

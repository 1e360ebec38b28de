"""The reader of mpiexec's output: success is more than exit code 0, and every failure is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.samples.words import lines, said, texts
from tui.model.event import ALL_OVER
from tui.model.operands import clause
from tui.model.plan import HostTask, MpiLaunch, Step
from tui.workloads.mdtest.reader import MdtestReader
from tui.workloads.mpi import ProxyReader

DATA = Path(__file__).parents[2] / "data" / "mdtest"
CHATTER = (
    b"[vm:1] mca_base_component_repository_open: unable to open mca_osc_ucx: libucp.so.0: no such"
    b" file (ignored)\n"
)


def reader(
    name: str, *, ranks: int = 4, items: int = 200, iterations: int = 3, exit_code: int = 0
) -> MdtestReader:
    launch = MpiLaunch("/d", ranks, items, iterations, options=("-F", "-u"))
    step = Step(0, "x", "mdtest", {}, [HostTask("h1", 0, "", [])], None, mpi=launch)
    found = MdtestReader(step, launch, ranks)
    text = (DATA / f"{name}.out").read_bytes()
    for start in range(0, len(text), 1000):
        found.feed(text[start : start + 1000])
    found.flush()
    return found


def codes(found: MdtestReader, exit_code: int | None) -> list[str]:
    return [code for code, _ in found.problems(exit_code)]


@pytest.mark.parametrize("version", ["1.9.3", "3.3.0", "main"])
def test_a_whole_run_of_every_version_is_a_success(version: str) -> None:
    found = reader(f"mdtest-{version}-profile-v")
    assert found.problems(0) == [] and found.succeeded(0)
    result = found.figures(0)
    assert result is not None and result.final and result.tasks == 4


def test_a_phase_that_was_killed_does_not_continue() -> None:
    launch = MpiLaunch("/d", 4, 200, 3, options=("-F", "-u"))
    found = MdtestReader(
        Step(0, "x", "mdtest", {}, [HostTask("h1", 0, "", [])], None, mpi=launch), launch, 4
    )
    found.feed((DATA / "hydra-kill-rank.out").read_bytes())
    assert found.flush()[-1].phase == ALL_OVER  # type: ignore[union-attr]  # a phase
    assert found.flush() == []


def test_an_exit_code_makes_it_a_failure() -> None:
    assert codes(reader("mdtest-main-profile-v"), 137) == ["mdtest-exit-code"]


def test_a_summary_of_too_few_iterations_is_a_failure() -> None:
    assert codes(reader("mdtest-main-i1", iterations=3), 0) == ["mdtest-incomplete"]


def test_fewer_ranks_than_launched_are_a_failure_as_soon_as_they_are_known() -> None:
    found = reader("mdtest-main-profile-v", ranks=8)
    assert found.wrong_launch == clause("ranks-launched", launched=4, ranks=8)


def test_ranks_that_run_alone_were_built_for_another_mpi() -> None:
    found = reader("mdtest-main-profile-v")
    found.output.tasks = 1
    assert "a different MPI" in said("mdtest", found.wrong_launch)


def test_warnings_make_it_a_failure_though_the_exit_code_is_0() -> None:
    found = reader("mdtest-main-T-without-C", ranks=2, iterations=1)
    assert codes(found, 0) == ["mdtest-warnings"]
    assert "(400 warnings)" in said("mdtest", found.problems(0)[0][1])


def test_reading_no_bytes_is_no_warning() -> None:
    found = reader("mdtest-main-i1", iterations=1)
    assert b"WARNING: Read bytes is 0" in (DATA / "mdtest-main-i1.out").read_bytes()
    assert found.succeeded(0)


@pytest.mark.parametrize(("version", "exit_code"), [("3.2.1", 0), ("3.3.0", 0), ("4.0.0", 1)])
def test_an_option_that_mdtest_does_not_know_is_the_cause_in_its_own_words(
    version: str, exit_code: int
) -> None:
    found = reader(f"mdtest-{version}-err-badopt", ranks=2, items=1, iterations=1)
    code, text = texts("mdtest", found.problems(exit_code))[0]
    assert code == "mdtest-bad-option" and text.startswith("mdtest rejects --nosuch")
    assert "mdtest-incomplete" not in codes(found, exit_code)


def test_what_libraries_of_mpi_say_beside_a_good_end_is_reported_and_no_problem() -> None:
    found = reader("mdtest-4.0.0-openmpi-chatter", ranks=2, items=20, iterations=1)
    told = found.feed_stderr((DATA / "mdtest-4.0.0-openmpi-chatter.err").read_bytes() + CHATTER)
    assert (
        "warning",
        "MPI: WARNING: An invalid value was given for btl_tcp_if_include.  This",
    ) in lines("mdtest", told)
    assert found.problems(0) == []


def test_what_libraries_of_mpi_say_is_the_cause_of_a_bad_end() -> None:
    found = reader("hydra-kill-rank", items=150000, iterations=1)
    found.feed_stderr(b"[1.2] [h2:7:0] tcp_ep.c:1234 UCX  ERROR Connection refused\n")
    assert (
        dict(texts("mdtest", found.problems(9)))["mpi-network"]
        == "MPI's network layer: Connection refused"
    )


@pytest.mark.parametrize(
    "line",
    [
        "Host key verification failed.",
        "root@10.0.0.2: Permission denied (publickey,password).",
        "ssh: connect to host 10.0.0.2 port 22: Connection refused",
    ],
)
def test_a_log_in_that_fails_from_host_to_host_is_reported_in_the_words_of_ssh(line: str) -> None:
    found = reader("mdtest-main-i1")
    other = MdtestReader(found.step, found.launch, 2)
    other.feed_stderr(line.encode() + b"\n")
    text = said("mdtest", other.unreachable)
    assert "launcher: plain" in text
    assert line.removesuffix(".").removeprefix("root@10.0.0.2: ") in text
    assert codes(other, None) == ["mpi-ssh"]


def test_a_full_file_system_is_named() -> None:
    found = reader("mdtest-main-err-enospc-inodes", ranks=2, items=400, iterations=1)
    assert "no-space" in codes(found, 255)


def test_a_read_only_file_system_is_named() -> None:
    found = reader("mdtest-1.9.3-err-rofs", ranks=2, items=100, iterations=1)
    assert "dir-not-writable" in codes(found, 1)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "hydra-kill-rank",
            "rank process 10975 on 10.99.0.12 failed; a rank exited: Killed (signal 9)",
        ),
        ("openmpi-kill9-rank", "rank 1 (process 24855 on 10.99.0.11) exited: signal 9 (Killed)"),
    ],
)
def test_a_killed_rank_is_named_with_its_host(name: str, text: str) -> None:
    found = reader(name, items=150000 if "hydra" in name else 400000, iterations=1)
    assert dict(texts("mdtest", found.problems(9)))["mpi-rank-died"] == text


def test_a_lost_daemon_is_named_with_its_host() -> None:
    found = reader("openmpi-kill9-orted", items=400000, iterations=1)
    assert (
        "the lost MPI proxy ran on 10.99.0.11"
        in dict(texts("mdtest", found.problems(205)))["mpi-proxy-died"]
    )


def test_lines_that_ask_for_proxies_are_kept_apart() -> None:
    found = reader("mdtest-main-i1")
    other = MdtestReader(found.step, found.launch, 2)
    other.feed(b"HYDRA_LAUNCH: /usr/bin/hydra_pmi_proxy --proxy-id 0 \nHYDRA_LAU")
    assert other.launches == ["/usr/bin/hydra_pmi_proxy --proxy-id 0"] and not other.launches_end
    other.feed(b"NCH_END\n")
    assert other.launches_end


def test_a_rank_cannot_ask_for_a_proxy() -> None:
    found = reader("mdtest-main-i1", iterations=1)
    found.feed(b"HYDRA_LAUNCH: /bin/rm -rf /\n")
    assert found.launches == []


def test_a_proxy_that_cannot_reach_mpiexec_says_where() -> None:
    found = ProxyReader("h2", reader("mdtest-main-i1").step)
    found.feed_stderr(
        b"[proxy:0:1@h2] unable to connect to server 10.0.0.1 at port 46000 (check for"
        b" firewalls!)\n"
    )
    assert found.problems(5)[0][0] == "mpi-unreachable" and "10.0.0.1 port 46000" in said(
        "mdtest", found.problems(5)[0][1]
    )

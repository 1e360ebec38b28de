"""The reader of mpiexec's output: success is more than exit code 0, and every failure is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui.model.plan import HostTask, MpiLaunch, Step
from tui.workloads.mdtest.reader import MdtestReader, ProxyReader

DATA = Path(__file__).parents[2] / "data" / "mdtest"


def reader(name: str, *, ranks: int = 4, items: int = 200, iterations: int = 3, exit_code: int = 0) -> MdtestReader:
    launch = MpiLaunch("/d", ranks, items, iterations, options=("-F", "-u"))
    step = Step(0, "x", "mdtest", {}, [HostTask("h1", 0, "", [])], None, mpi=launch)
    found = MdtestReader(step, launch, ranks)
    text = (DATA / f"{name}.out").read_bytes()
    for start in range(0, len(text), 1000):
        found.feed(text[start : start + 1000])
    found.flush()
    return found


def codes(found: MdtestReader, exit_code: int | None) -> list[str]:
    return [code for code, _ in found.verdict(exit_code)]


@pytest.mark.parametrize("version", ["1.9.3", "3.3.0", "main"])
def test_a_whole_run_of_every_version_is_a_success(version: str) -> None:
    found = reader(f"mdtest-{version}-profile-v")
    assert found.verdict(0) == [] and found.succeeded(0)
    result = found.metadata(0)
    assert result is not None and result.final and result.tasks == 4


def test_an_exit_code_makes_it_a_failure() -> None:
    assert codes(reader("mdtest-main-profile-v"), 137) == ["mdtest-exit-code"]


def test_a_summary_of_too_few_iterations_is_a_failure() -> None:
    assert codes(reader("mdtest-main-i1", iterations=3), 0) == ["mdtest-incomplete"]


def test_fewer_ranks_than_launched_are_a_failure_as_soon_as_they_are_known() -> None:
    found = reader("mdtest-main-profile-v", ranks=8)
    assert found.wrong_launch == "4 ranks were launched, not 8"


def test_ranks_that_run_alone_were_built_for_another_mpi() -> None:
    found = reader("mdtest-main-profile-v")
    found.output.tasks = 1
    assert "another MPI" in found.wrong_launch


def test_warnings_make_it_a_failure_though_the_exit_code_is_0() -> None:
    found = reader("mdtest-main-T-without-C", ranks=2, iterations=1)
    assert codes(found, 0) == ["mdtest-warnings"]
    assert "(400 warnings)" in found.verdict(0)[0][1]


def test_reading_no_bytes_is_no_warning() -> None:
    found = reader("mdtest-main-i1", iterations=1)
    assert b"WARNING: Read bytes is 0" in (DATA / "mdtest-main-i1.out").read_bytes()
    assert found.succeeded(0)


def test_a_full_file_system_is_named() -> None:
    found = reader("mdtest-main-err-enospc-inodes", ranks=2, items=400, iterations=1)
    assert "no-space" in codes(found, 255)


def test_a_read_only_file_system_is_named() -> None:
    found = reader("mdtest-1.9.3-err-rofs", ranks=2, items=100, iterations=1)
    assert "dir-not-writable" in codes(found, 1)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("hydra-kill-rank", "rank process 10975 at 10.99.0.12 ended badly; a rank ended: Killed (signal 9)"),
        ("openmpi-kill9-rank", "rank 1 (process 24855 at 10.99.0.11) ended: signal 9 (Killed)"),
    ],
)
def test_a_killed_rank_is_named_with_its_host(name: str, text: str) -> None:
    found = reader(name, items=150000 if "hydra" in name else 400000, iterations=1)
    assert dict(found.verdict(9))["mpi-rank-died"] == text


def test_a_lost_daemon_is_named_with_its_host() -> None:
    found = reader("openmpi-kill9-orted", items=400000, iterations=1)
    assert "the MPI proxy that was lost ran at 10.99.0.11" in dict(found.verdict(205))["mpi-proxy-died"]


def test_lines_that_ask_for_proxies_are_kept_apart() -> None:
    found = reader("mdtest-main-i1")
    other = MdtestReader(found._step, found.launch, 2)
    other.feed(b"HYDRA_LAUNCH: /usr/bin/hydra_pmi_proxy --proxy-id 0 \nHYDRA_LAU")
    assert other.launches == ["/usr/bin/hydra_pmi_proxy --proxy-id 0 "] and not other.launches_end
    other.feed(b"NCH_END\n")
    assert other.launches_end


def test_a_rank_cannot_ask_for_a_proxy() -> None:
    found = reader("mdtest-main-i1", iterations=1)
    found.feed(b"HYDRA_LAUNCH: /bin/rm -rf /\n")
    assert found.launches == []


def test_a_proxy_that_cannot_reach_mpiexec_says_where() -> None:
    found = ProxyReader("h2", reader("mdtest-main-i1")._step)
    found.feed_stderr(b"[proxy:0:1@h2] unable to connect to server 10.0.0.1 at port 46000 (check for firewalls!)\n")
    assert found.verdict(5)[0][0] == "mpi-unreachable" and "10.0.0.1 port 46000" in found.verdict(5)[0][1]

"""mdtest over MPI on several hosts: launched without trust between them, watched, ended everywhere,
recorded.

With a real mdtest (on PATH, or named by BENCHTUI_MDTEST) that one runs; else ranks of
tests/lab/mdtest_standin.py.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import benchtui, comm, environ_of, marked_processes, only_run, start
from tests.lab import mdtest_standin
from tests.lab.faults import forget_on_hosts
from tests.lab.netns import NetnsLab, possible
from tests.lab.sshd import SshdLab, set_env
from tests.patience import PATIENCE_S, wait_until
from tests.samples.records import headline_of
from tui.text.run_texts import run_text

pytestmark = pytest.mark.e2e

HYDRA, OPENMPI = shutil.which("mpiexec.hydra"), shutil.which("orted")
START = time.time()
# files a rank: minutes, unless somebody ends it; four ranks want four times as many inodes
LONG = "2000000"
needs_hydra = pytest.mark.skipif(HYDRA is None, reason="no mpiexec.hydra (MPICH)")
needs_openmpi = pytest.mark.skipif(OPENMPI is None, reason="no orted (Open MPI)")
needs_namespaces = pytest.mark.skipif(
    not possible(), reason="network namespaces need root and iproute2"
)


def real_mdtest(library: str) -> Path | None:
    """A real mdtest that was built with this MPI."""
    path = os.environ.get("BENCHTUI_MDTEST") or shutil.which("mdtest")
    if path is None:
        return None
    linked = subprocess.run(["ldd", path], capture_output=True, text=True, check=False).stdout
    return Path(path) if library in linked else None


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "target"
    path.mkdir()
    return path


@pytest.fixture
def program(tmp_path: Path) -> Path:
    return real_mdtest("libmpich") or mdtest_standin.install(tmp_path)


class Launch:
    """`benchtui run weka/mdtest` on the first hosts of a lab."""

    def __init__(
        self, home: Path, ssh_config: Path, hosts: int, target: Path, program: Path, **params: str
    ) -> None:
        self.home, self.target = home, target
        loopback = ",".join(f"h{number}=127.0.0.{number + 1}" for number in range(1, hosts + 1))
        given = {"directory": target, "program": program, "ranks": 2, "items": 400, "iterations": 2}
        given |= {"addresses": loopback} | params
        settings = [word for name, value in given.items() for word in ("--set", f"{name}={value}")]
        self.args: list[str | Path] = [
            "run",
            "weka/mdtest",
            "--hosts",
            f"h[1-{hosts}]",
            "--ssh-config",
            ssh_config,
            *settings,
            "--yes",
        ]

    def extend(self, place: Path, keys: str) -> None:
        """Run a profile of the user's own, with other keys of mdtest."""
        own = place / "own.yaml"
        own.write_text(f"profile: user/own\nversion: 1\nextends: weka/mdtest\nmdtest: {{{keys}}}\n")
        self.args[1] = str(own)

    def run(self, *more: str) -> dict[str, Any]:
        """Run to the end and return the record."""
        done = benchtui(self.home, *self.args, *more, "--json")
        assert done.stdout, done.stderr
        record: dict[str, Any] = json.loads(done.stdout)
        return record

    def begin(self, *more: str) -> subprocess.Popen[str]:
        """Start it and wait until the ranks create files."""
        process = start(self.home, *self.args, *more, "--json")
        try:
            wait_until(
                lambda: "create" in self.phases() or process.poll() is not None,
                "the ranks create files",
            )
            assert process.poll() is None, process.communicate()
        except BaseException:
            benchtui(self.home, "stop", self.run_dir.name, "--abort")
            raise
        return process

    def phases(self) -> list[str]:
        return [event["phase"] for event in self.events() if event["type"] == "metadata_phase"]

    def events(self) -> list[dict[str, Any]]:
        journals = list((self.home / "runs").glob("*/journal.jsonl"))
        whole = [
            line
            for path in journals
            for line in path.read_text().splitlines(keepends=True)
            if line[-1] == "\n"
        ]
        return [json.loads(line) for line in whole]

    @property
    def run_dir(self) -> Path:
        return only_run(self.home)

    def processes(self) -> list[int]:
        return marked_processes(self.run_dir.name)

    def ranks(self) -> list[int]:
        return [
            pid for pid in self.processes() if has_variable(pid, "PMI_RANK", "OMPI_COMM_WORLD_RANK")
        ]

    def named(self, program: str) -> list[int]:
        return [pid for pid in self.processes() if comm(pid).startswith(program[:15])]


def has_variable(pid: int, *names: str) -> bool:
    return any(word.split(b"=")[0].decode() in names for word in environ_of(pid))


def summary_rows(run_dir: Path) -> dict[str, list[float]]:
    """The summary that mdtest itself printed: first word of each row's operation -> max, min, mean,
    std dev.
    """
    text = gzip.decompress((run_dir / "raw" / "0.measure.h1.out.gz").read_bytes()).decode()
    lines = text[text.index("SUMMARY") :].splitlines()
    rows = {
        " ".join(line.split()[:2]): [float(word) for word in line.split()[-4:]]
        for line in lines[3:9]
    }
    assert len(rows) == 6
    return rows


def problems(record: dict[str, Any]) -> dict[str, list[str]]:
    return {host["name"]: [each["code"] for each in host["problems"]] for host in record["hosts"]}


# -- whole runs


@pytest.fixture(scope="module")
def two_hosts(
    lab: SshdLab, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Launch, dict[str, Any]]]:
    if HYDRA is None:
        pytest.skip("no mpiexec.hydra (MPICH)")
    place = tmp_path_factory.mktemp("mdtest")
    (target := place / "target").mkdir()
    program = real_mdtest("libmpich") or mdtest_standin.install(place)
    launch = Launch(place / "home", lab.ssh_config, 2, target, program)
    yield launch, launch.run()


def test_figures_are_those_that_mdtest_printed(two_hosts: tuple[Launch, dict[str, Any]]) -> None:
    launch, record = two_hosts
    assert record["state"] == "complete", record["reason"]
    metadata = record["steps"][0]["metadata"]
    names = {
        "create": "File creation",
        "stat": "File stat",
        "read": "File read",
        "remove": "File removal",
    }
    rows = summary_rows(launch.run_dir)
    for operation, words in names.items():
        each = metadata["operations"][operation]
        assert [each["max"], each["min"], each["mean"], each["stddev"]] == rows[words]
        assert len(each["iterations"]) == 2
    assert record["headline"]["value"] == rows["File creation"][2]
    assert record["headline"]["unit"] == "ops_per_s"


def test_ranks_version_and_shift_are_recorded(two_hosts: tuple[Launch, dict[str, Any]]) -> None:
    metadata = two_hosts[1]["steps"][0]["metadata"]
    assert (metadata["tasks"], metadata["nodes"], metadata["files"]) == (4, 2, 1600)
    assert metadata["version"] and metadata["shift_ranks"] == 2
    assert re.fullmatch(r"(MPICH|Open MPI) \d+(\.\d+)+\S*", metadata["mpi"])
    assert [
        finding["id"] for finding in two_hosts[1]["findings"] if finding["scope"].get("phases")
    ] == ["rank-shift"]


def test_nothing_stays_behind_on_disk_or_as_a_process(
    two_hosts: tuple[Launch, dict[str, Any]],
) -> None:
    launch, record = two_hosts
    assert list(launch.target.iterdir()) == []
    assert all(host["files_left"] is None for host in record["hosts"])
    assert launch.processes() == []


def test_the_summary_shows_the_table_and_lists_show_the_headline(
    two_hosts: tuple[Launch, dict[str, Any]],
) -> None:
    launch, record = two_hosts
    shown = benchtui(launch.home, "runs", "show", record["run_id"]).stdout
    assert (
        "operations/s" in shown and "std dev" in shown and "rank shift: 2 ranks = 1 client" in shown
    )
    assert headline_of(record) in benchtui(launch.home, "runs", "list").stdout


@needs_hydra
@pytest.mark.slow
def test_four_hosts(lab: SshdLab, home: Path, target: Path, program: Path) -> None:
    record = Launch(home, lab.ssh_config, 4, target, program, ranks="1").run()
    assert record["state"] == "complete" and record["verdict"] != "invalid"
    assert record["steps"][0]["metadata"]["tasks"] == 4


def open_mpi(lab: SshdLab, home: Path, target: Path, place: Path, **params: str) -> Launch:
    """Two hosts that are one machine: a real mdtest's ranks must not meet in its shared memory."""
    program = real_mdtest("libmpi.so.40") or mdtest_standin.install(place, "3.3.0")
    launch = Launch(home, lab.ssh_config, 2, target, program, **params)
    launch.extend(place, "mpi: openmpi")
    return launch


def left_by_open_mpi(run_id: str, mpirun: int) -> list[Path]:
    own = [
        *Path("/tmp").glob(f"ompi.*/pid.{mpirun}"),
        *Path("/dev/shm").glob(f"benchtui-{run_id}*"),
    ]
    return own + [
        path for path in Path("/dev/shm").glob("vader_segment.*") if path.stat().st_mtime > START
    ]


@needs_openmpi
def test_open_mpi_over_two_hosts(lab: SshdLab, home: Path, target: Path, tmp_path: Path) -> None:
    launch = open_mpi(lab, home, target, tmp_path)
    record = launch.run()
    assert record["state"] == "complete", record["reason"]
    assert record["steps"][0]["metadata"]["nodes"] == 2 and launch.processes() == []
    assert left_by_open_mpi(launch.run_dir.name, 0) == []


@pytest.mark.slow
@needs_openmpi
def test_open_mpi_that_is_killed_leaves_nothing_in_tmp_and_shared_memory(
    lab: SshdLab, home: Path, target: Path, tmp_path: Path
) -> None:
    launch = open_mpi(lab, home, target, tmp_path, items=LONG)
    process = launch.begin()
    mpirun = next(pid for pid in launch.processes() if comm(pid).startswith(("mpirun", "mpiexec")))
    kept = Path(f"/dev/shm/benchtui-{launch.run_dir.name}")
    assert sorted(path.name for path in kept.iterdir()) == ["h1", "h2"]
    os.kill(mpirun, signal.SIGKILL)
    process.communicate(timeout=PATIENCE_S)
    assert launch.processes() == [] and left_by_open_mpi(launch.run_dir.name, mpirun) == []


@needs_hydra
@pytest.mark.slow
def test_the_environment_of_the_head_does_not_reach_the_ranks(
    tmp_path: Path, home: Path, target: Path
) -> None:
    seen = tmp_path / "seen"
    seen.mkdir()
    program = mdtest_standin.install(tmp_path, before=f'env >"{seen}/$PMI_RANK.$$"')
    with SshdLab(tmp_path / "own", hosts=2) as lab:
        for host in lab.hosts:
            host.stop()
            host.options = (set_env(host.root, f"SECRET_OF_{host.name}=s3cret"),)
            host.start()
        lab.write_config()
        assert Launch(home, lab.ssh_config, 2, target, program).run()["state"] == "complete"
    environments = [path.read_text() for path in seen.iterdir()]
    assert len(environments) == 2 + 4  # of the trial, and of the measurement
    # each its own host's
    assert all(("SECRET_OF_h1" in each) != ("SECRET_OF_h2" in each) for each in environments)


# -- what goes wrong


def fail(launch: Launch, kill: str) -> dict[str, Any]:
    """Start a long run, kill a part of it, and return the record."""
    process = launch.begin()
    victims = {"mpiexec": launch.named("mpiexec"), "rank": launch.ranks(), "proxy": proxies(launch)}
    os.kill(victims[kill][0], signal.SIGKILL)
    out, _ = process.communicate(timeout=PATIENCE_S)
    assert launch.processes() == []
    record: dict[str, Any] = json.loads(out)
    return record


def proxies(launch: Launch) -> list[int]:
    return launch.named("hydra_pmi_proxy") + launch.named("orted")


@needs_hydra
@pytest.mark.parametrize(
    ("kill", "code"),
    [
        ("proxy", "mpi-proxy-died"),
        pytest.param("mpiexec", "mdtest-exit-code", marks=pytest.mark.slow),
        pytest.param("rank", "mpi-rank-died", marks=pytest.mark.slow),
    ],
)
def test_a_part_that_is_killed_ends_all_and_is_named(
    lab: SshdLab, home: Path, target: Path, program: Path, kill: str, code: str
) -> None:
    record = fail(Launch(home, lab.ssh_config, 2, target, program, items=LONG), kill)
    assert record["state"] == "failed"
    assert code in [each for codes in problems(record).values() for each in codes]
    left = [host["files_left"]["paths"] for host in record["hosts"] if host["files_left"]]
    assert left == [[str(target / f"benchtui-{record['run_id']}")]] and Path(left[0][0]).exists()


@needs_hydra
@pytest.mark.slow
def test_a_stop_leaves_no_rank_and_cleans_up_when_asked(
    lab: SshdLab, home: Path, target: Path, program: Path
) -> None:
    launch = Launch(home, lab.ssh_config, 2, target, program, items=LONG)
    process = launch.begin("--cleanup")
    assert benchtui(home, "stop", launch.run_dir.name).returncode == 0
    out, _ = process.communicate(timeout=PATIENCE_S)
    record = json.loads(out)
    assert (
        record["state"] in ("failed", "partial")
        and run_text(record["reason"]) == "stopped on request"
    )
    assert launch.processes() == [] and list(target.iterdir()) == []


@needs_hydra
def test_a_missing_mdtest_and_a_missing_directory_are_reported_in_the_same_try(
    lab: SshdLab, home: Path, tmp_path: Path
) -> None:
    program, target = tmp_path / "missing", tmp_path / "nowhere"
    record = Launch(home, lab.ssh_config, 2, target, program).run()
    assert record["exit_code"] == 3
    for host in record["hosts"]:
        missing, where = [run_text(each["message"]) for each in host["problems"]]
        assert missing == f"{target} does not exist"
        assert where.startswith(f"{program} not found by ") and "--set program=PATH" in where


# -- hosts of their own


@pytest.fixture
def namespaces(tmp_path: Path) -> Iterator[NetnsLab]:
    with NetnsLab(tmp_path / "netns", hosts=2) as started:
        yield started


@needs_namespaces
@pytest.mark.slow
@pytest.mark.parametrize(
    "library",
    [
        pytest.param("libmpich", marks=needs_hydra),
        pytest.param("libmpi.so.40", marks=needs_openmpi),
    ],
)
def test_hosts_that_share_nothing_but_the_network(
    namespaces: NetnsLab, home: Path, target: Path, tmp_path: Path, library: str
) -> None:
    program = real_mdtest(library) or mdtest_standin.install(tmp_path)
    launch = Launch(home, namespaces.ssh_config, 2, target, program, addresses="auto")
    record = launch.run()
    assert record["state"] == "complete", record["reason"]
    assert record["steps"][0]["metadata"]["nodes"] == 2 and launch.processes() == []


@needs_namespaces
@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "library"),
    [
        pytest.param("mpich", "libmpich", marks=needs_hydra),
        pytest.param("openmpi", "libmpi.so.40", marks=needs_openmpi),
    ],
)
def test_the_plain_way_over_hosts_with_a_tmp_of_their_own(
    home: Path, target: Path, tmp_path: Path, family: str, library: str
) -> None:
    (bin_dir := tmp_path / "bin").mkdir()
    real = real_mdtest(library)
    program = Path(shutil.copy(real, bin_dir)) if real else mdtest_standin.install(bin_dir)
    with NetnsLab(tmp_path / "netns", hosts=2, shared=tmp_path) as lab:
        launch = Launch(home, lab.ssh_config, 2, target, program, addresses="auto")
        launch.extend(tmp_path, f"launcher: plain, mpi: {family}")
        record = launch.run()
    assert record["state"] == "complete", record["reason"]
    assert record["steps"][0]["metadata"]["nodes"] == 2


@needs_namespaces
@needs_hydra
@pytest.mark.slow
def test_a_host_whose_link_goes_down_ends_the_run_and_is_named(
    namespaces: NetnsLab, home: Path, target: Path, tmp_path: Path
) -> None:
    program = real_mdtest("libmpich") or mdtest_standin.install(tmp_path)
    launch = Launch(home, namespaces.ssh_config, 2, target, program, addresses="auto", items=LONG)
    process = launch.begin("--lease", "10s")
    namespaces.unplug("h2")
    out, _ = process.communicate(timeout=PATIENCE_S)
    record = json.loads(out)
    assert "host-lost" in problems(record)["h2"]
    wait_until(
        lambda: launch.processes() == [], "the lease ended the ranks of the host that was lost"
    )
    forget_on_hosts(launch.run_dir.name)  # it was never back


@needs_hydra
@pytest.mark.slow
def test_a_run_whose_engine_died_is_taken_over_and_finished(
    lab: SshdLab, home: Path, target: Path, program: Path
) -> None:
    launch = Launch(home, lab.ssh_config, 2, target, program, items="200000")
    process = launch.begin()
    os.kill(int((launch.run_dir / "engine.pid").read_text().split()[0]), signal.SIGKILL)
    process.communicate(timeout=PATIENCE_S)
    recovered = benchtui(home, "runs", "recover")
    assert recovered.returncode == 0, recovered.stdout + recovered.stderr
    record = json.loads((launch.run_dir / "run.json").read_text())
    assert record["state"] == "complete" and len(record["resumed"]) == 1
    rows = summary_rows(launch.run_dir)
    assert (
        record["steps"][0]["metadata"]["operations"]["create"]["mean"] == rows["File creation"][2]
    )
    assert launch.processes() == [] and list(target.iterdir()) == []


@needs_hydra
@pytest.mark.slow
def test_the_plain_way_needs_hosts_that_let_each_other_in(
    lab: SshdLab, home: Path, target: Path, program: Path, tmp_path: Path
) -> None:
    launch = Launch(home, lab.ssh_config, 2, target, program)
    launch.extend(tmp_path, "launcher: plain")
    record = launch.run()  # nobody listens on port 22 of 127.0.0.2, or nobody lets us in
    assert record["exit_code"] == 3 and launch.processes() == []
    said = [run_text(each["message"]) for host in record["hosts"] for each in host["problems"]]
    assert any("trial launch: " in text and "ssh" in text for text in said), said

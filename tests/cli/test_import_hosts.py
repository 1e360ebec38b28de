"""Which host kept output is of: as it says, as the user says, or as its file is called, without
dates.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.test_import import MAPR, Captured, imported
from tui.analysis.setup import measured_at
from tui.cli.main import main
from tui.library.import_sets import dateless, host_names, nights
from tui.library.imported import records_of
from tui.library.verify import verify_run
from tui.model.problem import UsageError
from tui.workloads.fio.outputs import import_output

STEMS = st.from_regex(r"[A-Za-z][A-Za-z0-9]{0,8}(-[A-Za-z][A-Za-z0-9]{0,5}){0,2}", fullmatch=True)
FORMATS = (
    "%Y-%m-%d", "%Y%m%d", "%Y_%m_%d", "%Y.%m.%d", "%Y-%m-%dT%H:%M:%S", "%Y%m%dT%H%M%SZ",
    "%Y%m%d-%H%M%S",
    "%Y-%m-%d_%H-%M", "%d.%m.%Y", "%m-%d-%Y",
)  # fmt: skip
DAYS = st.datetimes(min_value=datetime(1990, 1, 1), max_value=datetime(2089, 1, 1))
SECONDS = st.integers(1_000_000_000, 1_999_999_999)
DATES = st.builds(datetime.strftime, DAYS, st.sampled_from(FORMATS)) | SECONDS.map(str)


def dated(folder: Path, *names: str) -> list[Path]:
    """Return copies of one output under these names."""
    folder.mkdir(parents=True, exist_ok=True)
    return [Path(shutil.copyfile(MAPR[0], folder / name)) for name in names]


@given(STEMS, DATES, st.sampled_from("-_."))
def test_a_date_at_either_end_of_a_name_is_left_out(stem: str, date: str, separator: str) -> None:
    assert dateless(f"{stem}{separator}{date}") == stem
    assert dateless(f"{date}{separator}{stem}") == stem


@given(STEMS)
def test_a_name_without_a_date_is_kept(stem: str) -> None:
    assert dateless(stem) == stem


@pytest.mark.parametrize(
    "stem", ["h1-4096k", "node20241", "10.0.0.12", "gpu-2048", "rack12-31", "20261301", "v1.2026"]
)
def test_numbers_that_are_no_date_are_kept(stem: str) -> None:
    assert dateless(stem) == stem


@given(STEMS, STEMS, st.lists(DATES, min_size=1, max_size=4, unique=True))
def test_files_that_differ_only_by_date_are_runs_each_with_every_host(
    one: str, other: str, dates: list[str]
) -> None:
    hosts = sorted({one, other})
    names = [f"{host}-{date}.json" for host in hosts for date in dates]
    found = nights(names)
    assert sorted(at for night in found for at in night) == list(range(len(names)))
    assert [host_names([names[at] for at in night]) for night in found] == [hosts] * len(dates)


def test_hosts_with_unlike_numbers_of_files_are_one_run() -> None:
    assert nights(["a-2026-01-01", "a-2026-01-02", "b-2026-01-01"]) == [[0, 1, 2]]


def test_nightly_files_form_one_history(home: Path, tmp_path: Path) -> None:
    for path in dated(tmp_path, "nfs-2026-11-01.txt", "nfs-2026-11-02.txt"):
        assert main(["import", str(path)]) == 0
    setups = {measured_at(run)[0].setup for run in (home / "runs").iterdir()}
    assert len(list((home / "runs").iterdir())) == 2
    assert len(setups) == 1


def test_imports_of_other_options_are_another_history(home: Path, tmp_path: Path) -> None:
    words = "--name=a --filename=f --size=1m --rw=randread --number_ios=50 --output-format=json"
    for direct in ("0", "1"):
        command = ["fio", *words.split(), f"--direct={direct}", "--output=out.json"]
        subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
        assert main(["import", str(tmp_path / "out.json")]) == 0
    setups = [measured_at(run)[0].setup for run in (home / "runs").iterdir()]
    assert len(set(setups)) == len(setups) == 2


@pytest.mark.parametrize("folder", [False, True], ids=["named", "directory"])
def test_nightly_files_in_one_go_are_a_run_each(folder: bool, home: Path, tmp_path: Path) -> None:
    paths = dated(
        tmp_path / "kept", "nfs-2026-11-02.txt", "nfs-2026-11-01.txt", "nfs-2026-11-03.txt"
    )
    made = records_of([tmp_path / "kept"] if folder else paths)
    assert {(each.record.hosts[0].name, len(each.record.hosts)) for each in made} == {
        ("host" if folder else "nfs", 1)
    }
    assert len({each.record.steps[0].name for each in made}) == 1
    assert [
        each.record.provenance.imported.names for each in made if each.record.provenance.imported
    ] == [[f"nfs-2026-11-0{day}.txt"] for day in (1, 2, 3)]


def test_hosts_are_called_as_the_user_says(home: Path, capsys: Captured) -> None:
    record = imported(
        capsys, *MAPR[:2], more=("--json", "--dry-run", "--host", "c1", "--host", "c2")
    )
    assert [host["name"] for host in record["hosts"]] == ["c1", "c2"]


def test_files_of_one_host_by_the_users_word_are_runs_of_their_own(tmp_path: Path) -> None:
    made = records_of(dated(tmp_path, "monday.txt", "tuesday.txt"), hosts=["c1", "c1"])
    assert [[host.name for host in each.record.hosts] for each in made] == [["c1"], ["c1"]]


@pytest.mark.parametrize("hosts", [["c1"], ["c1", "c2", "c3"]])
def test_as_many_hosts_as_files_are_needed(hosts: list[str]) -> None:
    with pytest.raises(UsageError, match=f"{len(hosts)} times for 2 files"):
        records_of(MAPR[:2], hosts=hosts)


def test_the_users_names_are_not_for_directories(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="directory"):
        records_of([dated(tmp_path / "kept", "a.txt")[0].parent], hosts=["c1"])


def test_output_of_several_hosts_takes_no_name_of_the_user() -> None:
    client = MAPR[0].parents[1] / "cs" / "two-normal-3.33.stdout"
    with pytest.raises(UsageError, match="named hosts"):
        records_of([client], hosts=["c1"])


@pytest.mark.parametrize(
    "prompt",
    [
        "[root@nfs1 ~]# ",
        "me@nfs1:/mnt/weka$ ",
        "(bench) root@nfs1:~# ",
        "root@nfs1> ",
        "  me@nfs1 % ",
    ],
)
def test_the_shell_prompt_above_an_output_names_its_host(prompt: str) -> None:
    command = "fio -name=j -rw=randread -bs=8k -direct=1\n"
    _, _, printed = MAPR[0].read_text().partition("\n")
    (output,) = import_output(prompt + command + printed, "ticket.txt")
    assert output.host == "nfs1"
    assert output.command.startswith("-name=j")


@pytest.mark.parametrize("hosts", [[], ["c1", "c2"]], ids=["files", "user"])
def test_a_run_is_verified_under_the_names_that_it_was_imported_with(
    hosts: list[str], tmp_path: Path
) -> None:
    paths = dated(tmp_path, "a-20261101.txt", "b-20261101.txt")
    (made,) = records_of(paths, hosts=hosts)
    assert verify_run(made.keep(tmp_path / "runs")).exit_code == 0


def test_a_run_imported_before_dates_were_left_out_is_verified(tmp_path: Path) -> None:
    (made,) = records_of(dated(tmp_path, "a.txt"))
    run_dir = made.keep(tmp_path / "runs")
    old = json.loads(
        (run_dir / "run.json")
        .read_text()
        .replace('"a"', '"a-20261101"')
        .replace("a.txt", "a-20261101.txt")
    )
    del old["provenance"]["imported"]["dated"], old["provenance"]["imported"]["hosts"]
    (run_dir / "raw" / "a.txt").rename(run_dir / "raw" / "a-20261101.txt")
    (run_dir / "run.json").write_text(json.dumps(old))
    assert [host["name"] for host in old["hosts"]] == ["a-20261101"]
    assert verify_run(run_dir).exit_code == 0

"""An imported run proves itself by the text that was kept of it: it is read again as it was read
then.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.library.test_verify import change_json, figure
from tui.cli.main import main
from tui.library.imported import read_again, records_of
from tui.library.load import load_record
from tui.library.verify import verify_run

DATA = Path(__file__).parents[1] / "data"
TEXT = DATA / "fio" / "text"
HOSTS = [TEXT / f"nfs-client-{number}.txt" for number in range(1, 5)]
READS = [TEXT / f"mapr-randread-{size}.txt" for size in ("8k", "256k")]


def kept(tmp_path: Path, *paths: Path, tool: str | None = None) -> Path:
    """Import what is one run, and return where it is kept."""
    (made,) = records_of(paths, tool, "ticket 12")
    return made.keep(tmp_path / "runs")


@pytest.mark.parametrize(
    ("paths", "tool"),
    [
        (READS[:1], None),
        (HOSTS, "fio"),
        ([DATA / "fio" / "cs" / "two-normal-3.33.stdout"], None),
        ([DATA / "fio" / "cs" / "two-json+-master.stdout.gz"], None),
        ([DATA / "fio" / "logs" / "avg"], None),
        ([DATA / "mdtest" / "mdtest-main-profile-v.out"], None),
        ([DATA / "ior" / "main-fpp.out"], None),
        ([DATA / "ior" / "main-json.out"], None),
        ([DATA / "io500" / "short.out"], None),
        ([DATA / "foreign" / "elbencho.csv"], None),
        ([DATA / "foreign" / "wekatester.log"], "wekatester"),
    ],
    ids=[
        "text",
        "hosts",
        "client",
        "client-json",
        "logs",
        "mdtest",
        "ior",
        "ior-json",
        "io500",
        "elbencho",
        "wekatester",
    ],
)
def test_every_value_is_derived_again_from_the_kept_text(
    paths: list[Path], tool: str | None, tmp_path: Path
) -> None:
    found = verify_run(kept(tmp_path, *paths, tool=tool))
    assert (found.differs, found.exit_code) == ([], 0)
    assert found.results > 0 and found.values > 50


def test_a_run_of_a_directory_is_derived_from_those_of_its_files_that_were_read(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "cbt" / "results" / "00000000" / "id-1"
    for point, text in zip(("4k", "8k"), READS, strict=True):
        (folder / point).mkdir(parents=True)
        shutil.copyfile(text, folder / point / "output.0.node1")
    (tmp_path / "plain").mkdir()
    for text in READS:
        shutil.copyfile(text, tmp_path / "plain" / text.name)
    (tmp_path / "plain" / "cut.json").write_text('{\n  "fio version" : "fio-3.33",\n')
    for name in ("cbt", "plain"):
        run_dir = kept(tmp_path, tmp_path / name)
        assert (verify_run(run_dir).differs, verify_run(run_dir).exit_code) == ([], 0)


def test_a_changed_figure_is_named_though_no_kept_file_was_touched(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_dir = kept(home, *HOSTS)
    assert main(["runs", "note", run_dir.name, "from the vendor"]) == 0
    assert main(["runs", "verify", run_dir.name]) == 0
    assert "verified: 4 checksums, 4 results" in capsys.readouterr().out
    change_json(run_dir / "run.json", figure)
    assert main(["runs", "verify", run_dir.name]) == 1
    assert "headline.value: " in capsys.readouterr().out


def test_kept_text_that_was_changed_with_its_sum_does_not_fit_the_record(tmp_path: Path) -> None:
    run_dir = kept(tmp_path, READS[0])
    (raw,) = (run_dir / "raw").iterdir()
    data = raw.read_bytes().replace(b"99.00th=[22938]", b"99.00th=[12938]")
    assert data != raw.read_bytes()
    raw.write_bytes(data)
    assert [text.partition(":")[0] for text in verify_run(run_dir).differs] == [f"raw/{raw.name}"]
    document = json.loads((run_dir / "run.json").read_text())
    document["provenance"]["artefacts"][0].update(
        sha256=hashlib.sha256(data).hexdigest(), bytes=len(data)
    )
    (run_dir / "run.json").write_text(json.dumps(document))
    assert any(
        "percentiles_ns.99: 22938000 in run.json, 12938000" in text
        for text in verify_run(run_dir).differs
    )
    document["provenance"]["artefacts"][0].update(sha256=hashlib.sha256(b"x").hexdigest(), bytes=1)
    raw.write_bytes(b"x")
    (run_dir / "run.json").write_text(json.dumps(document))
    assert any("cannot be imported again: " in text for text in verify_run(run_dir).differs)


def test_an_import_that_does_not_say_how_it_was_read_is_not_derived_again(tmp_path: Path) -> None:
    run_dir = kept(tmp_path, READS[0])
    document = json.loads((run_dir / "run.json").read_text())
    del document["provenance"]["imported"]
    (run_dir / "run.json").write_text(json.dumps(document))
    found = verify_run(run_dir)
    assert found.exit_code == 3 and "did not save how its files were read;" in found.underived


def test_contradictions_that_an_earlier_version_kept_as_errors_are_derived(tmp_path: Path) -> None:
    run_dir = tmp_path / "runs" / "contradicted"
    shutil.copytree(DATA / "runs" / "contradicted", run_dir)
    assert verify_run(run_dir).differs == []
    change_json(run_dir / "run.json", figure)
    assert verify_run(run_dir).differs


DATED = DATA / "fio" / "text" / "unsynced-3.33.txt"  # Tue Dec  1 2026


def dated(tmp_path: Path, day: datetime) -> Path:
    """Return the output of fio with another date."""
    text, count = re.subn(r"Tue Dec  1 .* 2026", f"{day:%a %b %e %H:%M:%S %Y}", DATED.read_text())
    assert count == 1
    path = tmp_path / "out.txt"
    path.write_text(text)
    return path


@pytest.mark.parametrize(("days", "told"), [(-400, False), (0.9, False), (1.5, True), (400, True)])
def test_output_dated_after_its_import_is_a_warning(
    tmp_path: Path, days: float, told: bool
) -> None:
    place = kept(tmp_path, dated(tmp_path, datetime.now(UTC) + timedelta(days=days)))
    record = load_record(place)
    found = [each.severity for each in record.findings if each.id == "impossible-time"]
    assert found == (["warning"] if told else [])
    assert "impossible-time" in (record.checks or [])
    assert verify_run(place).exit_code == 0


def test_a_later_reading_compares_dates_with_the_time_of_the_import(tmp_path: Path) -> None:
    place = kept(tmp_path, dated(tmp_path, datetime.now(UTC) - timedelta(days=30)))
    before = f"{datetime.now(UTC) - timedelta(days=90):%Y-%m-%dT%H:%M:%SZ}"

    def import_earlier(record: Any) -> None:
        record["provenance"]["imported"]["utc"] = before

    change_json(place / "run.json", import_earlier)
    _, derived = read_again(place, load_record(place))
    assert "impossible-time" in {each.id for each in derived.findings}


def forget_the_time(record: Any) -> None:
    del record["provenance"]["imported"]["utc"]


def test_an_import_of_a_version_that_kept_no_time_is_read_as_before(tmp_path: Path) -> None:
    place = kept(tmp_path, dated(tmp_path, datetime.now(UTC) + timedelta(days=400)))
    change_json(place / "run.json", forget_the_time)
    _, derived = read_again(place, load_record(place))
    assert "impossible-time" not in (derived.checks or [])


def test_output_without_a_date_is_not_compared(tmp_path: Path) -> None:
    path = dated(tmp_path, datetime.now(UTC))
    path.write_text(re.sub(r"(?<=pid=)(\d+): .*", r"\1", path.read_text()))
    assert "impossible-time" not in (load_record(kept(tmp_path, path)).checks or [])

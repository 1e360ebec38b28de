"""One measurement that was saved in several formats is imported once, and the formats compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui.library.imported import ImportedRecord, records_of

DATA = Path(__file__).parents[1] / "data" / "elbencho"


def copies(folder: Path, name: str, *suffixes: str) -> list[Path]:
    paths = [folder / f"r.{suffix}" for suffix in suffixes]
    for path in paths:
        path.write_text((DATA / f"{name}{path.suffix}").read_text())
    return paths


def hosts_and_errors(made: list[ImportedRecord]) -> tuple[int, list[str]]:
    (record,) = [each.record for each in made]
    wrong = [each.id for each in record.findings if each.id == "own-figures"]
    return len(record.hosts), wrong


@pytest.mark.parametrize("as_folder", [True, False])
@pytest.mark.parametrize(
    ("name", "suffixes"),
    [("rand-read-live", ("json", "csv")), ("files-write-read", ("json", "csv", "out"))],
)
def test_formats_of_one_measurement_are_one_host(
    tmp_path: Path, name: str, suffixes: tuple[str, ...], as_folder: bool
) -> None:
    paths = copies(tmp_path, name, *suffixes)
    made = records_of([tmp_path] if as_folder else paths)
    assert hosts_and_errors(made) == (1, [])
    assert len(made[0].record.steps) == {"rand-read-live": 1, "files-write-read": 6}[name]


def test_formats_that_differ_are_an_error(tmp_path: Path) -> None:
    _, table = copies(tmp_path, "rand-read-live", "json", "csv")
    text = table.read_text()
    table.write_text(text.replace(",497,497,", ",597,597,"))
    assert table.read_text() != text
    assert hosts_and_errors(records_of([tmp_path])) == (1, ["own-figures"])


def test_two_files_of_one_format_are_two_hosts(tmp_path: Path) -> None:
    for host in ("h1", "h2"):
        (tmp_path / f"{host}.json").write_text((DATA / "rand-read-live.json").read_text())
    assert hosts_and_errors(records_of([tmp_path]))[0] == 2


@pytest.mark.parametrize("kept", ["mdtest/mdtest-main-i1.out", "ior/main-fpp.out"])
def test_repetitions_with_all_the_same_rates_are_copies(tmp_path: Path, kept: str) -> None:
    text = (DATA.parent / kept).read_text()
    for day in ("21", "22"):
        (tmp_path / f"r-2026-11-{day}.out").write_text(text)
    made = records_of(sorted(tmp_path.iterdir()))
    found = [
        [finding.severity for finding in each.record.findings if finding.id == "copied-output"]
        for each in made
    ]
    assert found == [["error"], ["error"]]


def test_repetitions_with_rates_of_their_own_are_no_copies(tmp_path: Path) -> None:
    for day, name in (("21", "profile-v"), ("22", "profile-quiet")):
        text = (DATA.parent / "mdtest" / f"mdtest-main-{name}.out").read_text()
        (tmp_path / f"r-2026-11-{day}.out").write_text(text)
    made = records_of(sorted(tmp_path.iterdir()))
    assert len(made) == 2
    assert not any(
        finding.id == "copied-output" for each in made for finding in each.record.findings
    )

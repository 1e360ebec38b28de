"""The job file that lays out test files, run by real fio."""

from __future__ import annotations

import json
import re
import zlib
from pathlib import Path

import pytest

from tests.workloads.fio.fixtures import objects, step
from tests.workloads.fio.real import needs_fio, run, tree
from tui.model.event import Sample
from tui.model.plan import FileSpec
from tui.model.problem import UsageError
from tui.workloads.fio.layout import MAX_PARALLEL, layout_job
from tui.workloads.fio.reader import FioReader

MIB = 1 << 20

SETS: dict[str, list[tuple[str, int]]] = {
    "one file of whole blocks": [("x", 3 * MIB)],
    "a file with a rest": [("x", 2 * MIB + 501_765)],
    "a rest of one byte": [("x", MIB + 1)],
    "a file smaller than a block": [("x", 4096), ("y", 1)],
    "many files of one size": [(f"d{number % 3}/f{number}", 192 * 1024) for number in range(60)],
    "files of many sizes": [(f"f{number}", 100_000 + 77 * number) for number in range(40)],
    "large ones with rests of many sizes": [
        (f"f{number}", MIB + 4096 * number) for number in range(20)
    ],
    "names with colons, spaces and signs": [
        ("a:b", MIB + 3),
        ("c d", 8192),
        ("::", 8192),
        ("=x", 8192),
    ],
    "the same file twice": [("x", 4096), ("x", 2 * MIB)],
}


def specs(name: str, where: Path) -> list[FileSpec]:
    return [FileSpec(str(where / path), size) for path, size in SETS[name]]


def laid_out(files: list[FileSpec], where: Path, job_dir: Path) -> bytes:
    for spec in files:
        Path(spec.path).parent.mkdir(parents=True, exist_ok=True)
    done = run(layout_job(files), job_dir, "--status-interval=1")
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@needs_fio
@pytest.mark.parametrize("name", SETS)
def test_every_file_is_written_once_and_whole(name: str, tmp_path: Path) -> None:
    files = specs(name, tmp_path / "t")
    output = laid_out(files, tmp_path / "t", tmp_path / "run")
    expected: dict[str, int] = {}
    for spec in files:
        expected[spec.path] = max(spec.size_bytes, expected.get(spec.path, 0))
    assert tree(tmp_path / "t") == expected
    written = sum(job["write"]["io_bytes"] for job in json.loads(objects(output)[-1])["jobs"])
    assert written == sum(expected.values())


@needs_fio
@pytest.mark.parametrize("name", ["a file with a rest", "many files of one size"])
def test_no_block_is_left_unwritten_and_no_data_shrink(name: str, tmp_path: Path) -> None:
    files = specs(name, tmp_path / "t")
    laid_out(files, tmp_path / "t", tmp_path / "run")
    data = b"".join(Path(spec.path).read_bytes() for spec in files)
    assert b"\0" * 512 not in data
    assert len(zlib.compress(data, 1)) > 0.95 * len(data)
    blocks = {data[start : start + 4096] for start in range(0, len(data), 4096)}
    assert len(blocks) > 0.99 * len(data) / 4096
    assert sum(Path(spec.path).stat().st_blocks * 512 for spec in files) >= len(data)


@needs_fio
def test_two_hosts_do_not_write_the_same_data(tmp_path: Path) -> None:
    contents = []
    for host in ("h1", "h2"):
        laid_out(
            [FileSpec(str(tmp_path / host / "x"), MIB)], tmp_path / host, tmp_path / "run" / host
        )
        contents.append((tmp_path / host / "x").read_bytes())
    assert contents[0] != contents[1]


@needs_fio
def test_laying_out_again_writes_again(tmp_path: Path) -> None:
    files = [FileSpec(str(tmp_path / "t" / "x"), MIB + 5)]
    laid_out(files, tmp_path / "t", tmp_path / "run")
    before = Path(files[0].path).read_bytes()
    laid_out(files, tmp_path / "t", tmp_path / "run")
    after = Path(files[0].path).read_bytes()
    assert len(after) == len(before)
    assert after != before


@needs_fio
def test_progress_is_the_bytes_of_the_samples(tmp_path: Path) -> None:
    files = specs("large ones with rests of many sizes", tmp_path / "t")
    output = laid_out(files, tmp_path / "t", tmp_path / "run")
    reader = FioReader("h1", step(), "layout")
    items = [*reader.feed(output), *reader.flush()]
    assert reader.problems(0) == []
    done = sum(item.dirs["write"].bytes for item in items if isinstance(item, Sample) and item.dirs)
    assert done == sum(spec.size_bytes for spec in files)


@needs_fio
def test_a_file_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run(layout_job([FileSpec(str(tmp_path / "file" / "x"), 4096)]), tmp_path / "run")
    reader = FioReader("h1", step(), "layout")
    reader.feed(done.stdout)
    reader.feed_stderr(done.stderr)
    assert reader.problems(done.returncode) != []


@pytest.mark.parametrize("path", ["/t/a;b", "/t/a#b", "/t/a\nb", "/t/a "])
def test_a_path_that_no_job_file_can_hold_is_refused(path: str) -> None:
    with pytest.raises(UsageError, match="fio cannot use the file"):
        layout_job([FileSpec(path, 4096)])


def test_devices_and_empty_files_are_never_written() -> None:
    text = layout_job([FileSpec("/dev/vdx", 1 << 30), FileSpec("/t/empty", 0)])
    assert "[layout" not in text
    assert "filename" not in text


def test_at_most_16_sections_run_at_a_time() -> None:
    for files in (
        [FileSpec(f"/t/{number}", MIB) for number in range(500)],
        [FileSpec(f"/t/{number}", MIB * (1 + number)) for number in range(40)],
    ):
        waves = re.split(r"stonewall=1", layout_job(files))
        assert max(wave.count("[layout") for wave in waves) <= MAX_PARALLEL + 1
        assert layout_job(files).count("filename=") == len(files)


def test_files_of_one_size_are_shared_out_evenly() -> None:
    text = layout_job([FileSpec(f"/t/{number}", MIB) for number in range(33)])
    counts = [section.count("filename=") for section in text.split("[layout")[1:]]
    assert len(counts) == 16
    assert max(counts) - min(counts) <= 1


def test_a_rest_is_written_after_all_whole_blocks() -> None:
    text = layout_job([FileSpec("/t/x", MIB + 5)])
    body, tail = text.split("[layout1]")
    assert "bs=1048576" in body
    assert "stonewall=1" in tail
    assert "offset=1048576" in tail

"""What an import reads is bounded while it is read: headers, packed files in packed ones, JSON,
numbers.
"""

from __future__ import annotations

import gzip
import io
import json
import lzma
import re
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.long.fuzz.worker import peak_bytes
from tui.cli.main import main
from tui.library import import_sources
from tui.library.archives import MOST_HEADER_BYTES, TarStream, unpacked
from tui.library.import_sources import read_source
from tui.library.imported import records_of
from tui.model.bounded import MOST_MEMORY_BYTES
from tui.model.problem import UsageError
from tui.workloads.reading import ImportBudget, TooMuchError, within

DATA = Path(__file__).parents[1] / "data"
TEXT = DATA / "fio" / "text" / "nfs-client-1.txt"
JSON = DATA / "fio" / "logs" / "avg" / "run.json"
Captured = pytest.CaptureFixture[str]


def blocks_of(data: bytes, size: int = 1000) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".bz2"])
def test_streams_that_follow_each_other_are_unpacked_as_one(suffix: str) -> None:
    import bz2

    pack: Any = {".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}[suffix]
    first, second = bytes(range(256)) * 3000, b"second"
    packed = pack(first) + pack(second)
    assert b"".join(unpacked(blocks_of(packed), suffix)) == first + second
    assert max(map(len, unpacked(blocks_of(pack(bytes(1 << 22))), suffix))) <= 1 << 18
    with pytest.raises(EOFError):
        list(unpacked(blocks_of(packed[:-9]), suffix))


def pax_bomb(size: int) -> bytes:
    """An archive whose first header says that it is so long."""
    info = tarfile.TarInfo("././@PaxHeader")
    info.type, info.size = tarfile.XHDTYPE, size
    return info.tobuf() + bytes(1024)


def test_a_header_that_says_it_is_700_mib_is_refused_before_it_is_read() -> None:
    stream = TarStream(io.BytesIO(pax_bomb(700 << 20)))
    with pytest.raises(tarfile.ReadError, match="header larger than 1 MiB"):
        list(stream.members())
    assert stream.tell() <= 1024


def test_headers_before_one_file_are_limited_together() -> None:
    header = pax_bomb(0)[:512]
    with pytest.raises(tarfile.ReadError, match="header"):
        list(TarStream(io.BytesIO(header * (2 + MOST_HEADER_BYTES // 512))).members())


def pax(data: bytes) -> bytes:
    """An archive that begins with a header of pax."""
    info = tarfile.TarInfo("././@PaxHeader")
    info.type, info.size = tarfile.XHDTYPE, len(data)
    return info.tobuf() + data.ljust(512, b"\0") + tarfile.TarInfo("a").tobuf() + bytes(1024)


@pytest.mark.parametrize(
    "data",
    [
        b"9223372036854775808 path=a\n",  # leads past what an index holds
        b"26 path=a\n22 GNU.sparse.map=1\n",
        b"30 GNU.sparse.map=1,2,3,x,,\n0\n",
        b"22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n25 GNU.sparse.name=a.txt\n",
        b"13 size=1e99\n",
        b"\xff" * 100,
    ],
)
def test_a_header_that_makes_no_sense_is_an_archive_that_cannot_be_read(data: bytes) -> None:
    with suppress(tarfile.TarError):
        list(TarStream(io.BytesIO(pax(data))).members())


@given(st.binary(max_size=200))
@example(b"9223372036854775808 path=a\n")
def test_any_header_of_pax_is_read_or_refused(data: bytes) -> None:
    with suppress(tarfile.TarError):
        list(TarStream(io.BytesIO(pax(data))).members())


@pytest.mark.parametrize("field", [b"\xff", b"\0", b"\x80"])
def test_a_directory_of_a_zip_archive_that_makes_no_sense_is_refused_with_its_file(
    field: bytes, tmp_path: Path, capsys: Captured
) -> None:
    path, out = tmp_path / "a.zip", io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.txt", b"a")
    whole = out.getvalue()
    entry = whole.index(b"PK\x01\x02")
    for at in range(entry + 4, len(whole)):
        path.write_bytes(whole[:at] + field + whole[at + 1 :])
        main(["import", "--dry-run", str(path)])
        said = capsys.readouterr().err
        assert str(path) in said and said.count("\n") <= 2, at


def test_text_of_all_files_together_is_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_sources, "MOST_BYTES", 1 << 20)
    with tarfile.open(tmp_path / "many.tar", "w") as archive:
        for number in range(50):
            data = gzip.compress(b"x" * (1 << 16))
            info = tarfile.TarInfo(f"{number}.txt.gz")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    with zipfile.ZipFile(tmp_path / "many.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        for number in range(50):
            packed.writestr(f"{number}.txt", b"x" * (1 << 16))
    for name in ("many.tar", "many.zip"):
        with pytest.raises(TooMuchError, match="more than 1 MiB of text"):
            read_source(tmp_path / name)


def test_what_is_no_text_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_sources, "MOST_BYTES", 1 << 20)
    (tmp_path / "core").write_bytes(bytes(3 << 20))
    (tmp_path / "client.txt").write_bytes(TEXT.read_bytes())
    assert [file.name for file in read_source(tmp_path).files] == ["client.txt"]


def test_a_tree_of_too_many_files_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_sources, "MOST_FILES", 3)
    for number in range(5):
        (tmp_path / f"{number}.txt").write_text("x")
    with pytest.raises(TooMuchError, match="more than 3 files"):
        read_source(tmp_path)


def test_a_reader_stops_when_the_memory_or_the_time_is_used_up() -> None:
    budget = ImportBudget(1 << 20)
    with pytest.raises(TooMuchError, match="more than 1 MiB of memory"):
        budget.check("file", 1 << 40)
    with pytest.raises(TooMuchError, match="CPU"):
        ImportBudget(most_s=-1.0).check("file")


def test_json_is_refused_before_its_values_are_objects(tmp_path: Path) -> None:
    path = tmp_path / "bins.json"
    bins = ",".join(f'"{number}":1' for number in range(20_000))
    path.write_text(
        '{\n  "fio version" : "fio-3.33",\n  "jobs" : [{"read": {"clat_ns": {"bins":'
        f" {{{bins}}}}}}}}}]\n}}\n"
    )
    little = ImportBudget()
    little._most_bytes = 1  # as if the process were as large as it may be
    with within(little), pytest.raises(TooMuchError):
        sources_of = read_source(path)
        from tui.library.import_sets import kept_runs

        kept_runs([sources_of])


# -- numbers


def with_number(tmp_path: Path, change: dict[str, Any]) -> Path:
    document = json.loads(JSON.read_text())
    document["jobs"][0].update(
        {key: value for key, value in change.items() if key not in ("read",)}
    )
    document["jobs"][0]["read"].update(change.get("read", {}))
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(document, indent=2))
    return path


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"read": {"total_ios": -5}}, "total_ios"),
        ({"read": {"io_bytes": 2**63}}, "io_bytes"),
        ({"read": {"clat_ns": {"N": 5, "bins": {"1" + "0" * 30: 5}}}}, "clat_ns"),
        ({"error": 2**40}, "error"),
        ({"usr_cpu": -1}, "usr_cpu"),
        ({"job_start": 10**18}, "job_start"),
    ],
)
def test_impossible_numbers_are_refused_with_file_and_key(
    home: Path, tmp_path: Path, capsys: Captured, change: dict[str, Any], key: str
) -> None:
    path = with_number(tmp_path, change)
    assert main(["import", str(path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"benchtui: {path}") and key in said and said.count("\n") == 1


def test_an_error_number_that_no_system_has_is_reported_as_it_is(
    home: Path, tmp_path: Path, capsys: Captured
) -> None:
    assert main(["import", str(with_number(tmp_path, {"error": 2**31 - 1}))]) == 0
    assert "error 2147483647" in capsys.readouterr().out


def test_numbers_that_text_and_tables_tell_are_looked_at_too(tmp_path: Path) -> None:
    path = tmp_path / "elbencho.csv"
    lines = (DATA / "foreign" / "elbencho.csv").read_text().splitlines()
    names, row = lines[0].split(","), lines[2].split(",")
    row[names.index("IOPS [last]")] = "1e30"
    path.write_text("\n".join([lines[0], ",".join(row)]))
    with pytest.raises(UsageError, match=r"elbencho\.csv: .*dirs.write.ios is "):
        records_of([path])


# -- as a whole


@pytest.mark.slow
@pytest.mark.parametrize("bomb", ["pax", "gz", "bins", "lines", "wide", "xz"])
def test_no_file_takes_more_than_the_limit(tmp_path: Path, bomb: str) -> None:
    path = made(bomb, tmp_path)
    assert peak_bytes(["import", "--dry-run", str(path)], tmp_path / "home") <= MOST_MEMORY_BYTES


def made(bomb: str, folder: Path) -> Path:
    block = bytes(1 << 20)
    if bomb == "pax":
        with gzip.open(folder / "pax.tar.gz", "wb", 1) as file:
            file.write(pax_bomb(700 << 20)[:512])
            for _ in range(700):
                file.write(block)
    elif bomb == "gz":
        data = gzip.compress(b"x" * (250 << 20), 1)
        with tarfile.open(folder / "gz.tar", "w") as archive:
            for number in range(50):
                info = tarfile.TarInfo(f"{number}.txt.gz")
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
    elif bomb == "bins":
        bins = ",".join(f'"{number}":1' for number in range(2_000_000))
        (folder / "bins.json").write_text(
            '{\n  "fio version" : "fio-3.33",\n  "jobs" : [{"read": {"clat_ns": {"bins":'
            f" {{{bins}}}}}}}}}]\n}}\n"
        )
    elif bomb == "lines":
        (folder / "lines.txt").write_bytes(b"fio-3.33\n" + b"\n" * (60 << 20))
    elif bomb == "wide":
        (folder / "wide.txt").write_bytes("😀".encode() + b"fio \n" * (12 << 20))
    else:
        with lzma.open(folder / "xz.txt.xz", "wb", preset=1) as file:
            for _ in range(400):
                file.write(block)
    return next(folder.glob(f"{bomb}*"))


@pytest.mark.parametrize("runtime_ms", [1 << 63, 253_402_300_800_000, 10**30])
def test_a_runtime_that_cannot_be_gives_no_time_of_day(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], runtime_ms: int
) -> None:
    kept = Path(__file__).parents[1] / "data" / "fio" / "text" / "mapr-randwrite-256k.txt"
    text, count = re.subn(r"/\d+msec\)", f"/{runtime_ms}msec)", kept.read_text())
    assert count
    (path := tmp_path / "o.txt").write_text(text)
    assert main(["import", "--dry-run", str(path)]) in (0, 1, 2)
    assert "Traceback" not in capsys.readouterr().err

"""Raw output is kept byte for byte and is readable while it grows."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tui.journal.raw import RawFile


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    (tmp_path / "raw").mkdir()
    return tmp_path


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pieces=st.lists(st.binary(max_size=200), max_size=20))
def test_every_byte_is_kept(run_dir: Path, pieces: list[bytes]) -> None:
    raw = RawFile(run_dir, "0.measure.h1.out", "h1")
    for piece in pieces:
        raw.write(piece)
    assert raw.offset == sum(map(len, pieces))
    raw.close()
    assert gzip.decompress(raw.path.read_bytes()) == b"".join(pieces)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pieces=st.lists(st.tuples(st.integers(0, 2), st.binary(max_size=200)), max_size=40))
def test_files_that_grow_in_turn_hold_their_own_bytes(
    run_dir: Path, pieces: list[tuple[int, bytes]]
) -> None:
    files = [RawFile(run_dir, f"{number}", "h") for number in range(3)]
    for number, piece in pieces:
        files[number].write(piece)
    for number, raw in enumerate(files):
        wanted = b"".join(piece for at, piece in pieces if at == number)
        assert zlib.decompressobj(wbits=31).decompress(raw.path.read_bytes()) == wanted
        raw.close()
        assert gzip.decompress(raw.path.read_bytes()) == wanted


def test_what_was_written_can_be_read_before_the_file_is_closed(run_dir: Path) -> None:
    raw = RawFile(run_dir, "x", "h1")
    raw.write(b"first snapshot\n")
    assert zlib.decompressobj(wbits=31).decompress(raw.path.read_bytes()) == b"first snapshot\n"


def test_artefact_names_the_stored_file_by_its_digest(run_dir: Path) -> None:
    raw = RawFile(run_dir, "x", "h1")
    raw.write(b"data")
    artefact = raw.close()
    stored = (run_dir / artefact.path).read_bytes()
    assert (artefact.path, artefact.bytes, artefact.host) == ("raw/x.gz", len(stored), "h1")
    assert artefact.sha256 == hashlib.sha256(stored).hexdigest()


def test_a_directory_that_was_lost_is_made_again(tmp_path: Path) -> None:
    raw = RawFile(tmp_path, "x", "h1", keep=True)
    assert list(raw.restore()) == []
    raw.write(b"data")
    assert gzip.decompress((tmp_path / raw.close().path).read_bytes()) == b"data"


def test_what_a_second_engine_had_not_taken_over_yet_is_there_for_a_third(run_dir: Path) -> None:
    first = RawFile(run_dir, "x", "h1")
    first.write(b"of the first engine")
    second = RawFile(run_dir, "x", "h1", keep=True)  # died before it read what was there
    third = RawFile(run_dir, "x", "h1", keep=True)
    assert b"".join(third.restore()) == b"of the first engine"
    for file in (first, second, third):
        file.close()

"""The single file with a small program in it: unpacks once, goes straight there afterwards, and
says what fails.
"""

from __future__ import annotations

import os
import platform
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from onefile.build import Packed, compressed, packed, written
from tests.patience import PATIENCE_S

TAG = f"{sys.version_info[0]}{sys.version_info[1]}"
PROGRAM = """
import os, sys
def entry():
    import importlib.util
    print(sys.argv[1:], sys.prefix, importlib.util.find_spec("numpy") is not None)
    return 7
"""


def tree(folder: Path) -> Path:
    """Lay out a program and a library that is unpacked later."""
    for name, text in (("tui/__init__.py", ""), ("tui/cli/__init__.py", ""),
        ("tui/cli/main.py", PROGRAM),
                       ("numpy/__init__.py", ""), ("numpy/tests/test_a.py", "")):  # fmt: skip
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def built(folder: Path, machine: str = platform.machine()) -> Path:
    trees = {TAG: tree(folder / "tree"), "399": tree(folder / "tree")}
    archives = packed(trees)
    (folder / "packed").mkdir(exist_ok=True)
    return written(
        folder / "one",
        {each.name: compressed(each, folder / "packed", machine) for each in archives},
        machine,
    )


def run(file: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(file.parent),
        "PYTHON": sys.executable,
        **environ,
    }
    command = [str(file), *words]
    return subprocess.run(
        command, env=environ, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("one"))


def test_the_first_start_unpacks_and_the_second_does_not(file: Path, tmp_path: Path) -> None:
    first, second = (run(file, "a b", BENCHTUI_UNPACK=str(tmp_path)) for _ in range(2))
    assert first.returncode == second.returncode == 7
    assert first.stdout == second.stdout
    assert first.stdout.startswith("['a b']") and str(tmp_path) in first.stdout
    assert "unpacking" in first.stderr and second.stderr == ""


def test_without_a_home_directory_nothing_is_unpacked_into_the_root_directory(
    file: Path, tmp_path: Path
) -> None:
    stub = tmp_path / "id"
    stub.write_text("#!/bin/sh\necho no-such-user\n")
    stub.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    refused = run(file, HOME="", PATH=path)
    assert refused.returncode == 2 and "BENCHTUI_UNPACK" in refused.stderr
    assert run(file, HOME="", PATH=path, BENCHTUI_UNPACK=str(tmp_path)).returncode == 7


def test_starts_at_the_same_time_unpack_once(file: Path, tmp_path: Path) -> None:
    with ThreadPoolExecutor() as pool:
        done = list(pool.map(lambda _: run(file, BENCHTUI_UNPACK=str(tmp_path)), range(4)))
    assert {each.returncode for each in done} == {7}
    (place,) = (each for each in tmp_path.iterdir() if each.is_dir())
    assert (place / "bin" / "python").exists()


def test_what_few_verbs_need_is_unpacked_when_asked_for(file: Path, tmp_path: Path) -> None:
    assert run(file, BENCHTUI_UNPACK=str(tmp_path)).stdout.rstrip().endswith("False")
    (place,) = (each for each in tmp_path.iterdir() if each.is_dir())
    subprocess.run(
        [place / "bin" / "python", "-I", file, "full", place], check=True, capture_output=True
    )
    assert run(file, BENCHTUI_UNPACK=str(tmp_path)).stdout.rstrip().endswith("True")
    assert not list(place.rglob("test_a.py"))


def test_an_interpreter_that_is_gone_is_replaced(file: Path, tmp_path: Path) -> None:
    run(file, BENCHTUI_UNPACK=str(tmp_path))
    (place,) = (each for each in tmp_path.iterdir() if each.is_dir())
    (place / "bin" / "python").unlink()
    (place / "bin" / "python").symlink_to("/nowhere")
    assert run(file, BENCHTUI_UNPACK=str(tmp_path)).returncode == 7


@pytest.mark.skipif(os.getuid() == 0, reason="root writes everywhere")
def test_a_place_that_cannot_be_written_is_one_line(file: Path, tmp_path: Path) -> None:
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    done = run(file, BENCHTUI_UNPACK=str(tmp_path / "x"))
    assert done.returncode == 2
    assert "BENCHTUI_UNPACK" in done.stderr and "Traceback" not in done.stderr


def test_no_python_is_one_line(file: Path, tmp_path: Path) -> None:
    (tmp_path / "sh").symlink_to("/bin/sh")
    done = run(file, PATH=str(tmp_path), PYTHON="", BENCHTUI_UNPACK=str(tmp_path / "x"))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "3.11" in done.stderr


def test_another_machine_is_one_line(tmp_path: Path) -> None:
    other = "aarch64" if platform.machine() == "x86_64" else "x86_64"
    done = run(built(tmp_path, other), BENCHTUI_UNPACK=str(tmp_path / "x"))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert other in done.stderr


def test_a_file_that_several_pythons_have_is_packed_once(tmp_path: Path) -> None:
    trees = {"311": tree(tmp_path / "a"), "312": tree(tmp_path / "b")}
    (trees["312"] / "tui" / "own.py").write_text("x = 1\n")
    found = packed(trees)
    assert {each.name for each in found} == {
        "core-311+312.tar.xz", "core-312.tar.xz", "full-311+312.tar.xz",
    }  # fmt: skip
    assert all(isinstance(each, Packed) for each in found)

"""What is shipped: the wheel with all its data, and no trace of the machine it was written on."""

from __future__ import annotations

import ast
import os
import re
import site
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import tui
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parent.parent
SOURCES = (".ci", "docs", "onefile", "profiles", "tests", "tui")
TOP = (
    "pyproject.toml",
    "Makefile",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    ".gitignore",
    ".gitattributes",
)
COMMON_FOLDERS = {
    "/",
    "/builds",
    "/data",
    "/home",
    "/mnt",
    "/opt",
    "/root",
    "/src",
    "/srv",
    "/tmp",
    "/usr",
    "/var",
}
REGISTRY = re.compile(
    r"(pypi|pythonhosted)\.org|(index|find)[-_](ur[l]|link[s])|trusted-hos[t]", re.IGNORECASE
)


def run(*command: str | Path, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env={**kept, **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def files_below(folder: Path) -> Iterator[Path]:
    """All files of a folder but what Python and the checkers leave there."""
    for path in sorted(folder.rglob("*")):
        if (
            path.is_file()
            and not any(part == "__pycache__" for part in path.parts)
            and path.suffix != ".pyc"
        ):
            yield path


def build(kind: str, into: Path) -> Path:
    done = run(
        sys.executable, "-m", "build", f"--{kind}", "--no-isolation", "-o", into, ROOT, cwd=into
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return next(path for path in into.iterdir() if path.name.startswith("benchtui-"))


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def wheel_files(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_wheel_has_every_file_of_the_package(wheel_files: set[str]) -> None:
    expected = {str(path.relative_to(ROOT)) for path in files_below(ROOT / "tui")}
    data = {
        "tui/remote/sh/supervise.sh",
        "tui/py.typed",
        "tui/app/app.tcss",
        "tui/workloads/fio/fio_options.json",
    }
    assert data <= expected
    assert expected - wheel_files == set()


def test_the_wheel_has_every_preset(wheel_files: set[str]) -> None:
    expected = {
        f"tui/presets/{path.relative_to(ROOT / 'profiles')}"
        for path in files_below(ROOT / "profiles")
    }
    assert "tui/presets/demo/quick.yaml" in expected
    assert expected - wheel_files == set()


def test_the_wheel_has_nothing_but_the_package_and_its_metadata(wheel_files: set[str]) -> None:
    assert {name.partition("/")[0] for name in wheel_files} == {
        "tui",
        f"benchtui-{tui.__version__}.dist-info",
    }
    assert [name for name in wheel_files if name.endswith(".pyc")] == []


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == tui.__version__


def test_the_installed_wheel_works_from_anywhere(wheel: Path, tmp_path: Path) -> None:
    home = tmp_path / "venv"
    venv.create(home, with_pip=False, symlinks=True)
    python = home / "bin" / "python"
    installed = run(
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--no-deps",
        "--no-index",
        wheel,
        cwd=tmp_path,
    )
    assert installed.returncode == 0, installed.stderr
    own = Path(sysconfig.get_path("purelib", vars={"base": str(home), "platbase": str(home)}))
    (own / "dependencies.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    where = run(python, "-c", "import tui; print(tui.__file__)", cwd=tmp_path)
    assert where.stdout.strip() == str(own / "tui" / "__init__.py")
    listed = run(
        home / "bin" / "benchtui",
        "profiles",
        "list",
        cwd=tmp_path,
        BENCHTUI_HOME=str(tmp_path / "home"),
    )
    assert listed.returncode == 0, listed.stderr
    assert "demo/quick" in listed.stdout
    planned = run(
        *(home / "bin" / "benchtui", "run", "demo/quick", "--hosts", "local", "--dry-run"),
        cwd=tmp_path,
        BENCHTUI_HOME=str(tmp_path / "home"),
    )
    assert planned.returncode == 0, planned.stderr


def test_the_source_archive_can_be_built_and_tested(tmp_path: Path) -> None:
    with tarfile.open(build("sdist", tmp_path)) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    expected = {
        str(path.relative_to(ROOT)) for folder in SOURCES for path in files_below(ROOT / folder)
    }
    assert expected | {"pyproject.toml", "Makefile", "LICENSE", "README.md"} <= names


def text_files() -> Iterator[tuple[str, str]]:
    """Name and text of every text file of the project."""
    top = [ROOT / name for name in TOP]
    for path in [
        *filter(Path.exists, top),
        *(path for folder in SOURCES for path in files_below(ROOT / folder)),
    ]:
        content = path.read_bytes()
        if b"\0" not in content:
            yield str(path.relative_to(ROOT)), content.decode(errors="replace")


def paths_of_this_machine() -> list[str]:
    """The checkout, its folder, and Python's own prefix, as far as they are peculiar to this
    machine.
    """
    candidates = [ROOT, ROOT.parent, Path(sys.base_prefix)]
    return [
        f"{path}/"
        for path in candidates
        if str(path) not in COMMON_FOLDERS | {"/usr", "/usr/local", "/usr/src"}
    ]


def test_no_file_names_a_path_of_this_machine() -> None:
    found = [
        (name, path)
        for name, text in text_files()
        for path in paths_of_this_machine()
        if path in text
    ]
    assert found == []


def test_no_file_names_a_package_registry() -> None:
    found = [
        (name, match[0])
        for name, text in text_files()
        for match in [REGISTRY.search(text)]
        if match
    ]
    assert found == []


def test_no_file_is_too_long_to_be_read_in_one_go() -> None:
    files = [path for folder in ("tui", "tests") for path in (ROOT / folder).rglob("*.py")]
    lines = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for path in files
    }
    # of 100 columns: as much text as 500 lines of 120
    assert {name: count for name, count in lines.items() if count > 600} == {}


MOST_METHODS = 25


def methods_by_class() -> Iterator[tuple[str, int]]:
    """Name of each class of the product, and the number of functions in its body."""
    for path in sorted((ROOT / "tui").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                functions = (ast.FunctionDef, ast.AsyncFunctionDef)
                yield node.name, sum(isinstance(each, functions) for each in node.body)


def test_no_class_has_more_than_25_methods() -> None:
    found = {name: count for name, count in methods_by_class() if count > MOST_METHODS}
    assert found == {}


def test_no_class_name_occurs_twice() -> None:
    count = Counter(name for name, _ in methods_by_class())
    assert {name for name, times in count.items() if times > 1} == set()

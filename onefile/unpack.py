"""What Python runs of the single file: unpack one set of libraries, for this Python, whole or not
at all.

usage: python benchtui SET PLACE. `core` makes PLACE, with a Python of its own as venv does it;
`full` adds to it what searches and reports need. Python's own library is all there is here.
"""

from __future__ import annotations

import compileall
import contextlib
import fcntl
import os
import platform
import shutil
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

MACHINE = "@MACHINE@"
LEAST_GLIBC = (2, 28)
NEEDED_MB = {"core": 150, "full": 400}
TAG = f"{sys.version_info[0]}{sys.version_info[1]}"
SCRIPT = "import sys\n\nfrom tui.cli.main import entry\n\nsys.exit(entry())\n"


def main(wanted: str, place: Path) -> int:
    """Unpack one set; the exit code is that of the command."""
    if problem := why_not():
        return refused(problem)
    print(f"benchtui: unpacking into {place} (only once, some seconds)", file=sys.stderr)
    try:
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with locked(place.with_name(f"{place.name}.lock")):
            (unpack_core if wanted == "core" else unpack_full)(place)
    except OSError as error:
        free_elsewhere = (
            f"BENCHTUI_UNPACK names another directory, with {NEEDED_MB[wanted]} MB free"
        )
        return refused(f"{error.filename or place}: {error.strerror or error}; {free_elsewhere}")
    except ImportError as error:
        return refused(
            f"this Python ({sys.executable}) was built without a part that is needed: {error}"
        )
    return 0


def refused(problem: str) -> int:
    """Say in a line what is wrong."""
    print(f"benchtui: {problem}", file=sys.stderr)
    return 2


def why_not() -> str:
    """Return why the libraries in here do not fit this machine."""
    if platform.machine() != MACHINE:
        return f"this file is for {MACHINE}, this machine is {platform.machine()}"
    name, version = platform.libc_ver()
    known = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if name != "glibc" or known < LEAST_GLIBC:
        return (
            f"needs glibc {'.'.join(map(str, LEAST_GLIBC))} or "
            f"newer, found {name} {version}".rstrip()
        )
    return ""


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock: several that start at once unpack once."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def unpack_core(place: Path) -> None:
    """Make the directory with its Python.

    Nothing to do where another start has made it meanwhile.
    """
    if os.access(place / "bin" / "python", os.X_OK):
        return
    made = place.with_name(f"{place.name}.{os.getpid()}")
    try:
        library = made / "lib" / f"python{TAG[0]}.{TAG[1:]}" / "site-packages"
        extract("core", library)
        executable = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
        (made / "bin").mkdir()
        (made / "bin" / "python").symlink_to(executable)
        (made / "bin" / "benchtui").write_text(SCRIPT)
        (library / "full.pth").write_text("../full\n")  # a directory that may come later
        version = ".".join(map(str, sys.version_info[:3]))
        (made / "pyvenv.cfg").write_text(
            f"home = {executable.parent}\ninclude-system-site-packages = false\nversion ="
            f" {version}\n"
        )
        compileall.compile_dir(
            library, quiet=2, workers=0, stripdir=str(made), prependdir=str(place)
        )
        shutil.rmtree(place, ignore_errors=True)  # of a Python that is gone
        made.rename(place)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def unpack_full(place: Path) -> None:
    """Add what searches and reports need."""
    library = place / "lib" / f"python{TAG[0]}.{TAG[1:]}" / "full"
    if library.is_dir():
        return
    made = library.with_name(f"full.{os.getpid()}")
    try:
        extract("full", made)
        made.rename(library)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def extract(wanted: str, into: Path) -> None:
    """Extract the archives of a set that are for this Python: named ``core-311+312.tar.xz``."""
    into.mkdir(parents=True)
    with zipfile.ZipFile(sys.argv[0]) as archive:
        for name in archive.namelist():
            kind, _, tags = name.partition(".")[0].partition("-")
            if kind == wanted and TAG in tags.split("+"):
                with (
                    archive.open(name) as packed,
                    tarfile.open(fileobj=packed, mode="r|xz") as files,
                ):
                    (
                        files.extractall(into, filter="tar")
                        if hasattr(tarfile, "tar_filter")
                        else files.extractall(into)
                    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))

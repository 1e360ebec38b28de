"""`python -m onefile.check FILE`: try a single file in a root with Python and sh alone, without a
network.

The root is a chroot in namespaces of its own: no root rights are needed, only a kernel that allows
user namespaces.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
RUN = "20261120T101530Z-demo-quick-7f3a"
RUNS = "/root/.local/share/benchtui/runs"
COMMANDS = (
    ("--version",),
    ("profiles", "list"),
    ("findings",),
    ("man", "--roff"),
    ("completion", "bash"),
    ("run", "demo/quick", "--hosts", "local", "--dry-run"),
    ("capacity", "capacity/nfs-8k", "--hosts", "local", "--dry-run"),
    ("runs", "show", RUN),
    ("report", "--no-trend", RUN, "-o", "/root/report.html"),
)
ENTER = (
    "mount --rbind /dev {0}/dev && mount --rbind /proc {0}/proc && exec chroot {0} /usr/bin/env"
    " -i {1}"
)
ENVIRONMENT = "PATH=/usr/bin:/bin HOME=/root LANG=C.UTF-8"


def main() -> int:
    """Try each command; the exit code is 1 when one fails."""
    parser = argparse.ArgumentParser(prog="python -m onefile.check", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument(
        "--python", type=Path, default=Path(sys.executable), help="the one Python in there"
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        lay_out(root, args.file, base_of(args.python))
        failed = [words for words in COMMANDS if not works(root, words)]
        if not failed and "<svg" not in (root / "root" / "report.html").read_text():
            failed.append(("a chart in the report",))
    for words in failed:
        print(f"failed: {' '.join(words)}", file=sys.stderr)
    return 1 if failed else 0


def works(root: Path, words: Sequence[str]) -> bool:
    """Run one command in there, and tell how long it took."""
    begun = time.monotonic()
    done = inside(root, ["/usr/bin/benchtui", *words])
    print(f"{time.monotonic() - begun:7.2f} s  benchtui {' '.join(words)}", flush=True)
    if done.returncode or not (done.stdout or done.stderr):
        print(done.stdout + done.stderr, file=sys.stderr)
        return False
    return True


def inside(root: Path, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a command in the root, in a network namespace without any interface that is up."""
    enter = ENTER.format(root, ENVIRONMENT)
    command = [
        "unshare",
        "--map-root-user",
        "--net",
        "--mount",
        "sh",
        "-c",
        f'{enter} "$@"',
        "sh",
        *words,
    ]
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


def base_of(python: Path) -> tuple[Path, Path]:
    """Return the real executable of a Python and the directory of its library."""
    code = "import sys, sysconfig; print(sys._base_executable); print(sysconfig.get_path('stdlib'))"
    told = subprocess.run(
        [python, "-I", "-c", code], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return Path(told[0]).resolve(), Path(told[1])


def lay_out(root: Path, file: Path, python: tuple[Path, Path]) -> None:
    """Fill the root: a Python with its library, sh, env, what they link, the file, one saved
    run.
    """
    for name in ("dev", "proc", "tmp", "root", "usr/bin", "bin"):
        (root / name).mkdir(parents=True)
    executable, library = python
    copy_file(executable, root)
    (root / "usr" / "bin" / f"python{sysconfig.get_python_version()}").symlink_to(executable)
    left_out = shutil.ignore_patterns(
        "site-packages", "dist-packages", "test", "tests", "__pycache__", "config-*"
    )
    shutil.copytree(library, root / library.relative_to("/"), ignore=left_out, dirs_exist_ok=True)
    for program in ("sh", "env"):
        found = Path(shutil.which(program) or f"/bin/{program}").resolve()
        copy_file(found, root)
        for place in {f"/bin/{program}", f"/usr/bin/{program}"} - {str(found)}:
            inner = root / place.lstrip("/")
            if not inner.exists():
                inner.symlink_to(found)
        copy_linked(found, root)
    for binary in (executable, *library.rglob("*.so")):
        copy_linked(binary, root)
    shutil.copy(file, root / "usr" / "bin" / "benchtui")
    shutil.copytree(ROOT / "tests" / "data" / "whole", root / RUNS.lstrip("/") / RUN)


def copy_linked(binary: Path, root: Path) -> None:
    """Copy the libraries that a program links."""
    for path in linked(binary):
        copy_file(path, root)


def linked(binary: Path) -> Iterator[Path]:
    """Yield them, as the loader finds them."""
    told = subprocess.run(["ldd", binary], capture_output=True, text=True, check=False).stdout
    yield from (Path(match) for match in re.findall(r"(/\S+) \(0x", told))


def copy_file(path: Path, root: Path) -> None:
    """Copy a file to the same place in the root."""
    inner = root / path.relative_to("/")
    if not inner.exists():
        inner.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, inner)


if __name__ == "__main__":
    sys.exit(main())

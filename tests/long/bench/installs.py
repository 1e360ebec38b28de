"""What each way to install takes on disk, and how soon it starts: pip, pip with `full`, the single
file, a checkout.

Needs what `make dist` leaves in dist/, and a registry the first time; installations are kept in
.bench/installs.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from tests.long.bench.cold_start import environment, verb
from tests.long.bench.kept import FOLDER, ROOT, Row, told

TIMES = int(os.environ.get("TIMES", "7"))
VERBS = ("--version", "profiles list", "run demo/quick --hosts local --dry-run")
EXTRAS = {"pip": "", "pip, full": "[full]"}


def main() -> int:
    """Print a row for each way to install."""
    wheel = next((ROOT / "dist").glob("benchtui-*.whl"), None)
    file = next((ROOT / "dist").glob(f"benchtui-*-linux-{platform.machine()}"), None)
    if wheel is None or file is None:
        print("make dist first", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as home:
        environ = {**environment(Path(home)), "BENCHTUI_UNPACK": str(FOLDER / "installs" / "file")}
        environ.pop("PYTHONPATH")
        programs: dict[str, list[str | Path]] = {
            name: [installed(name, f"{wheel}{extra}") / "bin" / "benchtui"]
            for name, extra in EXTRAS.items()
        }
        programs |= {"single file": [file], "checkout": [sys.executable, "-P", "-m", "tui"]}
        starts = in_turn(programs, environ)
    sizes = {"single file": mb(file), "checkout": mb(Path(sys.prefix))} | {
        name: mb(FOLDER / "installs" / folder_of(name)) for name in EXTRAS
    }
    unpacked = {"single file": mb(FOLDER / "installs" / "file")}
    rows = [row(name, sizes[name], unpacked.get(name), starts) for name in programs]
    note = f"Medians of {TIMES} starts of each in turn, compiled code on disk; CPU of the process."
    return told("installs", rows, note)


def installed(name: str, requirement: str) -> Path:
    """Return a virtual environment without pip that has the wheel, made when there is none."""
    folder = FOLDER / "installs" / folder_of(name)
    if not (folder / "bin" / "benchtui").exists():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python")]
        subprocess.run([*pip, "install", "--quiet", requirement], check=True)
    return folder


def folder_of(name: str) -> str:
    """Return a name as a folder is called."""
    return name.replace(", ", "-")


def in_turn(
    programs: Mapping[str, list[str | Path]], environ: Mapping[str, str]
) -> dict[tuple[str, str], float]:
    """Return the CPU of each verb of each program, one after the other and again.

    The first time does not count.
    """
    found: dict[tuple[str, str], list[float]] = {}
    for _ in range(TIMES + 1):
        for words in VERBS:
            for name, program in programs.items():
                more = {"PYTHONPATH": str(ROOT)} if name == "checkout" else {}
                found.setdefault((name, words), []).append(
                    verb([*program, *words.split()], {**environ, **more})[1]
                )
    return {key: median(each[1:]) for key, each in found.items()}


def row(
    name: str, size: float, unpacked: float | None, starts: Mapping[tuple[str, str], float]
) -> Row:
    """Return one way to install."""
    cpu = {f"{words.split(' --hosts')[0]}, CPU ms": 1000 * starts[name, words] for words in VERBS}
    return {"installed by": name, "MB": size, "MB unpacked": unpacked, **cpu}


def mb(path: Path) -> float:
    """Return what a file or a directory takes on disk."""
    told = subprocess.run(["du", "-sk", path], capture_output=True, text=True, check=True).stdout
    return int(told.split()[0]) * 1024 / 1e6


if __name__ == "__main__":
    sys.exit(main())

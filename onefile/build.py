"""`make dist`: the wheel, and one executable file for each architecture, in dist/. Needs the
network for libraries.

Libraries of all Pythons are laid side by side; a file that several have is packed once. Archives
are xz: a file with deflated wheels would have 300 MB.
"""

from __future__ import annotations

import argparse
import hashlib
import lzma
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
PYTHONS = ("311", "312", "313", "314")
MACHINES = ("x86_64", "aarch64")
# RHEL 8, Debian 10 and Ubuntu 20.04 have 2.28 or newer
GLIBC = ("2_28", "2_27", "2_26", "2_24", "2_17")
FULL = {"numpy", "numpy.libs", "scipy", "scipy.libs", "vl_convert"}  # unpacked when first needed
USELESS = re.compile(
    r"(^|/)(tests?|include|__pycache__|doc)/|\.(pyi|pxd|pyx|h|a|pyc)$|(^|/)(RECORD|INSTALLER|REQUESTED)$"
)
USELESS_IN = {"numpy", "scipy"}  # elsewhere a few kB are not worth the risk
MOST_MB = 150
SOURCE_ONLY = ("argparse-manpage",)  # has no wheel on the registry: built here, it is Python alone


@dataclass(frozen=True, slots=True)
class Packed:
    """An archive of the single file: which set it is of, which Pythons need it, and the files in
    it.
    """

    kind: str
    pythons: tuple[str, ...]
    files: tuple[tuple[str, Path], ...]

    @property
    def name(self) -> str:
        """Its name in the file, which unpack.py reads."""
        return f"{self.kind}-{'+'.join(self.pythons)}.tar.xz"

    @property
    def digest(self) -> str:
        """A hash of all that is in it."""
        found = hashlib.sha256()
        for name, content in self.files:
            found.update(
                f"{name}\0{os.access(content, os.X_OK)}\0{content.stat().st_size}\0".encode()
            )
            found.update(content.read_bytes())
        return found.hexdigest()


def main() -> int:
    """Build what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m onefile.build", description=__doc__)
    parser.add_argument("--machine", action="append", choices=MACHINES, help="default: each")
    parser.add_argument("--into", type=Path, default=ROOT / "dist")
    args = parser.parse_args()
    args.into.mkdir(parents=True, exist_ok=True)
    wheel = build_wheel(args.into)
    work = ROOT / "build" / "onefile"
    for machine in args.machine or MACHINES:
        file = one_file(wheel, machine, work / machine, args.into)
        size = file.stat().st_size / 1e6
        print(f"{file.relative_to(args.into.parent)}: {size:.0f} MB", flush=True)
        if size > MOST_MB:
            print(f"more than {MOST_MB} MB", file=sys.stderr)
            return 1
    return 0


def build_wheel(into: Path) -> Path:
    """Build the wheel of this checkout."""
    for old in into.glob("benchtui-*.whl"):
        old.unlink()
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", into, ROOT]
    subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)
    return next(into.glob("benchtui-*.whl"))


def one_file(wheel: Path, machine: str, work: Path, into: Path) -> Path:
    """Build the file for one architecture."""
    for folder in ("built", "wheels", "trees"):
        shutil.rmtree(work / folder, ignore_errors=True)
    (work / "packed").mkdir(parents=True, exist_ok=True)
    built = build_pure(work / "built")
    constraints: tuple[str, ...] = ()
    trees = {}
    for python in PYTHONS:
        wheels = download([wheel, *built], python, machine, work / "wheels" / python, constraints)
        # the same versions for all share most files
        constraints = constraints or tuple(versions_of(wheels))
        trees[python] = work / "trees" / python
        install(wheels, python, machine, trees[python])
    archives = packed(trees)
    with ProcessPoolExecutor() as pool:
        contents = list(pool.map(compressed, archives, repeat(work / "packed"), repeat(machine)))
    members = {each.name: content for each, content in zip(archives, contents, strict=True)}
    return written(into / f"benchtui-{wheel.name.split('-')[1]}-linux-{machine}", members, machine)


def pip(*words: object, platform: tuple[str, str]) -> None:
    """Run pip for another Python and machine than ours."""
    python, machine = platform
    places = [
        word for version in GLIBC for word in ("--platform", f"manylinux_{version}_{machine}")
    ]
    places += ["--platform", f"manylinux2014_{machine}"]
    asked = [
        "--python-version",
        f"{python[0]}.{python[1:]}",
        "--implementation",
        "cp",
        "--only-binary=:all:",
    ]
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            *map(str, words),
            "--quiet",
            "--disable-pip-version-check",
            *asked,
            *places,
        ],
        check=True,
    )


def build_pure(into: Path) -> list[Path]:
    """Build the wheels that nobody has built."""
    into.mkdir(parents=True)
    command = [
        "wheel",
        "--no-deps",
        "--quiet",
        "--disable-pip-version-check",
        "--wheel-dir",
        str(into),
        *SOURCE_ONLY,
    ]
    subprocess.run([sys.executable, "-m", "pip", *command], check=True)
    return list(into.glob("*-none-any.whl"))


def download(
    local: Sequence[Path], python: str, machine: str, into: Path, constraints: Sequence[str]
) -> list[Path]:
    """Fetch the wheels that benchtui needs, all of them binary.

    `local` are its own, first, and others made here.
    """
    into.mkdir(parents=True)
    limits = into.with_suffix(".txt")
    limits.write_text("\n".join(constraints) + "\n")
    pip(
        "download",
        "--dest",
        into,
        "--constraint",
        limits,
        f"{local[0]}[full,xlsx]",
        *local[1:],
        platform=(python, machine),
    )
    return sorted(into.glob("*.whl"))


def versions_of(wheels: Sequence[Path]) -> Iterator[str]:
    """Yield what holds others to the versions of these wheels."""
    for wheel in wheels:
        name, version = wheel.name.split("-")[:2]
        if name != "benchtui":
            yield f"{name}=={version}"


def install(wheels: Sequence[Path], python: str, machine: str, into: Path) -> None:
    """Lay the wheels out as a directory of packages."""
    pip(
        "install",
        "--target",
        into,
        "--no-deps",
        "--no-compile",
        *wheels,
        platform=(python, machine),
    )
    shutil.rmtree(into / "bin", ignore_errors=True)


def packed(trees: Mapping[str, Path]) -> list[Packed]:
    """Return the archives: each file once, with the Pythons that need it."""
    pythons: dict[tuple[str, str], list[str]] = defaultdict(list)
    found: dict[tuple[str, str], Path] = {}
    for python, tree in trees.items():
        for path in sorted(each for each in tree.rglob("*") if each.is_file()):
            name = path.relative_to(tree).as_posix()
            top = name.partition("/")[0]
            if top.partition(".")[0] in USELESS_IN and USELESS.search(name):
                continue
            key = name, hashlib.sha256(path.read_bytes()).hexdigest()
            pythons[key].append(python)
            found[key] = path
    groups: dict[tuple[str, tuple[str, ...]], list[tuple[str, Path]]] = defaultdict(list)
    for key, path in found.items():
        kind = "full" if key[0].partition("/")[0] in FULL else "core"
        groups[kind, tuple(pythons[key])].append((key[0], path))
    return [
        Packed(kind, tags, tuple(sorted(files, key=_alike)))
        for (kind, tags), files in sorted(groups.items())
    ]


def _alike(file: tuple[str, Path]) -> tuple[str, str]:
    """Return what puts files beside those that they are like: they pack better."""
    return Path(file[0]).suffix, file[0]


def compressed(archive: Packed, into: Path, machine: str) -> Path:
    """Pack one archive, unless it was packed before.

    Nothing in it depends on when or by whom it is packed.
    """
    # 6: a tenth less, five times as long
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 2, "dict_size": 64 << 20}]
    if machine == "x86_64":
        filters.insert(0, {"id": lzma.FILTER_X86})
    path = into / f"{archive.digest}.tar.xz"
    if path.exists():
        return path
    with (
        lzma.open(path.with_suffix(".new"), "wb", format=lzma.FORMAT_XZ, filters=filters) as stream,
        tarfile.open(fileobj=stream, mode="w|", format=tarfile.GNU_FORMAT) as made,
    ):
        for name, content in archive.files:
            about = tarfile.TarInfo(name)
            about.size, about.mode = (
                content.stat().st_size,
                0o755 if os.access(content, os.X_OK) else 0o644,
            )
            with content.open("rb") as file:
                made.addfile(about, file)
    return path.with_suffix(".new").rename(path)


def written(path: Path, members: Mapping[str, Path], machine: str) -> Path:
    """Write the file: the launcher, and behind it the archive that Python can run."""
    digest = hashlib.sha256()
    for content in (HERE / "unpack.py", HERE / "launcher.sh", *members.values()):
        digest.update(content.read_bytes())
    launcher = (HERE / "launcher.sh").read_text().replace("@ID@", digest.hexdigest()[:12])
    path.write_text(launcher)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_STORED) as archive:
        unpack = (HERE / "unpack.py").read_text().replace("@MACHINE@", machine)
        archive.writestr(zipfile.ZipInfo("__main__.py"), unpack)
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content.read_bytes())
    path.chmod(0o755)
    return path


if __name__ == "__main__":
    sys.exit(main())

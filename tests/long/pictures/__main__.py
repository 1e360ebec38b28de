"""`python -m tests.long.pictures [FOLDER]`: the pictures of docs/images; `--all FOLDER`: every
screen, size and look.

`--only WORD` takes the pictures whose name has it (of size and look too: `--only 80x24.ascii`),
`--reports` those of a report as well, which need chromium and a run of a minute. With `--all` an
index.html shows them beside each other.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.long.pictures import DOCS, NARROW, WIDE, live, pages
from tests.long.pictures.looks import DARK, LOOKS, SIZES, Look, Picture, Size, file_name, take
from tests.long.pictures.reports import take_reports

PICTURES = {picture.name: picture for picture in (*pages.PICTURES, *live.PICTURES)}
IN_DOCS: dict[str, tuple[str, Size, Look]] = {  # file in docs/images: picture, size, look
    "first-start": ("first-start", NARROW, DARK),
    "hosts": ("hosts", WIDE, DARK),
    "profiles": ("profiles", WIDE, DARK),
    "editor": ("editor-problem", WIDE, DARK),
    "review": ("review", WIDE, DARK),
    "live": ("live-lag-64", WIDE, DARK),
    "live-80x24": ("live-lag-256", NARROW, DARK),
    "live-light": ("live-stall", WIDE, LOOKS[1]),
    "live-sweep": ("live-sweep", WIDE, DARK),
    "live-mdtest": ("live-mdtest", WIDE, DARK),
    "result": ("result", WIDE, DARK),
    "result-80x24": ("result-lag", NARROW, DARK),
    "result-hosts": ("result-hosts", WIDE, DARK),
    "facts": ("result-facts", WIDE, DARK),
    "runs": ("runs", WIDE, DARK),
    "compare": ("compare", WIDE, DARK),
}


@contextlib.contextmanager
def desk() -> Iterator[None]:
    """Work in an empty directory: what is shown of paths is the same everywhere."""
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
        yield


async def taken(picture: Picture, looks: Sequence[Look], sizes: Sequence[Size]) -> dict[str, str]:
    """Return pictures of one scene by the names of their files."""
    home = Path(picture.name)
    home.mkdir()
    opened = picture.make(home)
    found: dict[str, str] = {}
    for look in looks:
        shots = await take(picture, opened, look, sizes)
        found |= {file_name(picture, look, size): text for size, text in shots.items()}
    return found


def take_all(folder: Path, only: str) -> None:
    """Take every picture whose file's name has a word, a scene at a time."""
    for picture in PICTURES.values():
        wanted = [
            (look, size)
            for look in LOOKS
            for size in SIZES
            if only in file_name(picture, look, size)
        ]
        if not wanted:
            continue
        looks, sizes = (
            [each for each in known if any(each in pair for pair in wanted)]
            for known in (LOOKS, SIZES)
        )
        with desk():
            found = asyncio.run(taken(picture, looks, sizes))  # type: ignore[arg-type]
        for name, text in found.items():
            (folder / name).write_text(text)
        print(f"{picture.name}: {len(found)}", flush=True)
    index(folder)


def index(folder: Path) -> None:
    """Write a page that shows all pictures of a folder."""
    shown = "".join(
        f'<h2>{path.stem}</h2><img src="{path.name}">' for path in sorted(folder.glob("*.svg"))
    )
    style = "body { background: #444; color: #ccc; font: 16px monospace } img { max-width: 100% }"
    (folder / "index.html").write_text(f"<!doctype html><style>{style}</style>{shown}")


def take_for_docs(folder: Path, only: str) -> None:
    """Take the pictures that the documents show."""
    for name, (scene, size, look) in IN_DOCS.items():
        if only in name:
            with desk():
                (text,) = asyncio.run(taken(PICTURES[scene], [look], [size])).values()
            (folder / f"{name}.svg").write_text(text)
            print(f"{name}.svg: {len(text.encode()) // 1000} kB", flush=True)


def main(argv: Sequence[str]) -> int:
    """Take what is asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.long.pictures", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=DOCS)
    parser.add_argument("--all", action="store_true", help="every screen, size and look")
    parser.add_argument("--only", default="", metavar="WORD")
    parser.add_argument("--reports", action="store_true", help="those of a report as well")
    args = parser.parse_args(argv)
    folder = args.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if args.all and folder == DOCS:
        parser.error("--all wants a folder of its own: there are hundreds")
    os.environ.pop("NO_COLOR", None)
    (take_all if args.all else take_for_docs)(folder, args.only)
    if args.reports:
        take_reports(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

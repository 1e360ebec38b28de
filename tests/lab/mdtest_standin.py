"""A stand-in for mdtest where none is installed: MPI launches it as real ranks, rank 0 replays a
recorded output.

It takes mdtest's options, makes and removes real files, and prints what a real mdtest of the
recorded version printed, in the recorded rhythm stretched by the number of items; ranks, nodes,
items and iterations are those of this launch. It never calls MPI: ranks meet through files in the
directory under test.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from itertools import pairwise
from pathlib import Path

RECORDED_ITEMS = 40000
DATA = Path(__file__).parents[1] / "data" / "mdtest"


def main(recording: Path) -> None:
    parser = argparse.ArgumentParser()
    for option in ("-F", "-u", "-v"):
        parser.add_argument(option, action="store_true")
    for option in ("-N", "-i", "-n"):
        parser.add_argument(option, type=int)
    parser.add_argument("-d", type=Path)
    parser.add_argument("--saveRankPerformanceDetails")  # the recordings have no times of ranks
    args = parser.parse_args()
    Rank(args.d, args.n, args.i, args.N).run(recording)


def number(*names: str) -> int:
    return next((int(os.environ[name]) for name in names if name in os.environ), 1)


class Rank:
    def __init__(self, directory: Path, items: int, iterations: int, stride: int) -> None:
        self.directory, self.items, self.iterations, self.stride = (
            directory,
            items,
            iterations,
            stride,
        )
        self.rank = number("PMI_RANK", "OMPI_COMM_WORLD_RANK") if len(sys.argv) > 1 else 0
        self.size = number("PMI_SIZE", "OMPI_COMM_WORLD_SIZE")
        self.local = number("MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE")
        self.nodes = self.size // self.local

    def run(self, recording: Path) -> None:
        self.meet("up")
        own = self.directory / f"mdtest_tree.{self.rank}.0"
        own.mkdir()
        (own / f"file.mdtest.{self.rank}.0").touch()
        if self.rank == 0:
            self.replay(recording)
        self.meet("end")
        (own / f"file.mdtest.{self.rank}.0").unlink()
        own.rmdir()
        self.meet("gone")
        if self.rank == 0:
            for path in self.directory.glob("meet.*"):
                path.unlink()

    def meet(self, name: str) -> None:
        """Wait for all ranks, as a barrier does."""
        (self.directory / f"meet.{name}.{self.rank}").touch()
        while (
            len(list(self.directory.glob(f"meet.{name}.*"))) < self.size and self.directory.exists()
        ):
            if name == "gone" and self.rank:
                return
            time.sleep(0.02)  # ranks of other hosts come when they come

    def replay(self, recording: Path) -> None:
        header, iterations, summary = parts(recording.read_text().splitlines())
        chosen = [line for k in range(self.iterations) for line in iterations[k % len(iterations)]]
        number_of = 0
        for _, line in header:
            print(self.adapted(line, 0), flush=True)
        before_s = chosen[0][0]
        for at_s, line in [*chosen, *summary]:
            pause_s = max(0.0, at_s - before_s) * self.items / RECORDED_ITEMS
            before_s = at_s
            number_of += "main: * iteration" in line
            time.sleep(pause_s)  # the recorded rhythm
            print(self.adapted(line, number_of), flush=True)

    def adapted(self, line: str, iteration: int) -> str:
        multiplied = self.stride * (self.local if self.nodes > 1 else 1)
        nodemap = "1" * self.local + "0" * (self.size - self.local)
        changes = (
            (
                r"with \d+ total task\(s\) on \d+ node",
                f"with {self.size} total task(s) on {self.nodes} node",
            ),
            (r"^\d+ tasks, \d+ files", f"{self.size} tasks, {self.size * self.items} files"),
            (r"\* iteration \d+", f"* iteration {iteration}"),
            (r"\(of \d+ iterations\)", f"(of {self.iterations} iterations)"),
            (r"Shifting ranks by \d+", f"Shifting ranks by {multiplied}"),
            (r"^Nodemap: \d+", f"Nodemap: {nodemap}"),
        )
        for pattern, text in changes:
            line = re.sub(pattern, text, line)
        return line


def parts(
    lines: list[str],
) -> tuple[list[tuple[float, str]], list[list[tuple[float, str]]], list[tuple[float, str]]]:
    """Header, iterations and summary of a recording, each line with its time."""
    timed = [(float(line[:7]), line[8:]) for line in lines if line[:7].strip()]
    begins = [index for index, (_, line) in enumerate(timed) if "main: * iteration" in line]
    end = next(index for index, (_, line) in enumerate(timed) if line.startswith("SUMMARY"))
    bounds = [*begins, end]
    iterations = [timed[a:b] for a, b in pairwise(bounds)]
    return timed[: begins[0]], iterations, timed[end:]


def install(directory: Path, version: str = "main", before: str = "") -> Path:
    """Put an executable `mdtest` into a directory and return its path.

    `before` is shell that each rank runs first.
    """
    path = directory / "mdtest"
    recording = DATA / f"mdtest-{version}-live-timestamps.out"
    path.write_text(
        f'#!/bin/sh\n{before}\nexec "{sys.executable}" "{__file__}" "{recording}" "$@"\n'
    )
    path.chmod(0o755)
    return path


if __name__ == "__main__":
    main(Path(sys.argv.pop(1)))

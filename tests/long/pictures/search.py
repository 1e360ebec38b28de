"""`python -m tests.long.pictures.search [FOLDER]`: take the pictures of a capacity search, running
and finished.

Engine, loopback hosts and screens are real, and Live is attached to the search; nothing is
replayed. In place of fio there is a queue on each host (tests/lab/fio_standin.py), so that what a
machine does besides is not in the pictures.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from tests.capacity.systems import System
from tests.e2e.command import command, environment
from tests.e2e.test_matrix import events
from tests.lab import fio_standin
from tests.lab.sshd import SshdLab, set_env
from tests.long.pictures import DOCS, NARROW, WAIT_S, WIDE
from tests.patience import wait_until

HOSTS = 4
# 5000 reads a second at most; 4424 with a p99 of 8 ms, were it no noise
QUEUE = System(service_s=0.0002, noise=0.03)
SEEN = 6  # points of the curve that a picture of Live shows
HOLDS = 4  # a search holds its answer for five minutes, and other answers if that fails
SIZES = {"": WIDE, "-80x24": NARROW}
GOES_ON = re.compile(r"now .* 0:0[3-9] of ")  # in the midst of a point
PROFILE = """\
profile: lab/oltp-4k
title: OLTP in 4 KiB, 70 % reads
tool: fio
params:
  directory: {default: TARGET, kind: directory}
  runtime: {default: 5s, kind: duration}
fio:
  global: {ioengine: libaio, iodepth: 64, time_based: 1, runtime: "{runtime}", size: 4M, group_reporting: 1}
  jobs: {oltp: {rw: randrw, rwmixread: 70, bs: 4k, directory: "{directory}/{host}"}}
prepare: {layout: true}
headline: {metric: iops, direction: read}
capacity: {limits: ["read.p99 < 8ms", "errors = 0"], points: 12, point: 8s, most: 12s}
"""


def begun(home: Path, lab: SshdLab, target: Path) -> Path:
    """Begin the search and return the directory of its run."""
    profile = target / "oltp-4k.yaml"
    profile.write_text(PROFILE.replace("TARGET", str(target)))
    where = ["--hosts", f"h[1-{HOSTS}]", "--ssh-config", str(lab.ssh_config)]
    words = command("capacity", profile, *where, "--detach")
    done = subprocess.run(
        words, env=environment(home), capture_output=True, text=True, check=True, timeout=WAIT_S
    )
    return home / "runs" / done.stdout.strip()


async def take(
    home: Path, picture: Path, size: tuple[int, int], keys: Sequence[str], ready: str, **how: Path
) -> None:
    """Open the app, press keys, wait until a pattern is on the screen, and take its picture."""
    from tests.app.driver import opened
    from tui.app.frame.shell import Options
    from tui.model.paths import Paths

    environ = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
    chosen = Options(paths=Paths.from_environ({"BENCHTUI_HOME": str(home)}), environ=environ, **how)  # type: ignore[arg-type]
    async with opened(chosen, size=size) as user:
        for key in keys:
            await user.press(key)
        await user.sees(lambda: bool(re.search(ready, user.text)))
        picture.write_text(user.app.export_screenshot(title="benchtui"))


def main() -> int:
    """Search, and take Live while it goes on and Result when it is over."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS
    os.environ.pop("NO_COLOR", None)
    with tempfile.TemporaryDirectory(prefix="oltp-") as scratch, ExitStack() as stack:
        home, programs = Path(scratch) / "home", Path(scratch) / "programs"
        home.mkdir()
        programs.mkdir()
        fio_standin.install(programs, QUEUE)
        own = set_env(Path(scratch), f"PATH={programs}:{os.environ['PATH']}")
        lab = stack.enter_context(SshdLab(Path(scratch) / "lab", hosts=HOSTS, extra_config=(own,)))
        run_dir = begun(home, lab, Path(scratch))
        wait_until(lambda: len(events(run_dir, "point_decided")) >= SEEN, "points of the search")
        for name, size in SIZES.items():
            asyncio.run(
                take(
                    home,
                    folder / f"search-live{name}.svg",
                    size,
                    (),
                    GOES_ON.pattern,
                    watch=run_dir,
                )
            )
        ended = run_dir / "run.json"
        wait_until(ended.exists, "the end of the search", HOLDS * WAIT_S)
        for name, size in SIZES.items():
            asyncio.run(
                take(home, folder / f"search-result{name}.svg", size, ("6", "enter"), "budget used")
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())

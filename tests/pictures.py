"""`python -m tests.pictures [FOLDER]`: pictures for docs/images, of the screens and of a report of a real run.

The run is made on loopback hosts; the screens are the real app on it, Live a replay of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.e2e.command import command, environment, only_run
from tests.lab.sshd import SshdLab

HOSTS = 6
LOAD = ("--set", "runtime=60s", "--set", "size=32M", "--set", "numjobs=2")
WIDE, NARROW = (120, 36), (80, 24)
SCREENS: dict[str, tuple[tuple[int, int], Sequence[str], str]] = {  # keys from Hosts on, a text that is there then
    "hosts": (WIDE, ("a",), "h6"),
    "profiles": (WIDE, ("2",), "demo/quick"),
    "review": (WIDE, ("a", "2", "enter"), "job file"),
    "runs": (WIDE, ("6",), "demo/quick"),
    "result": (WIDE, ("6", "enter"), "COMPLETE"),
    "result-80x24": (NARROW, ("6", "enter"), "COMPLETE"),
}
SEEK = 6  # steps of ten seconds into the replay
DOCS = Path(__file__).parents[1] / "docs" / "images"
WAIT_S = 300


def take(page: Path, picture: Path, width: int, height: int) -> None:
    """Take a picture of the begin of a page."""
    words = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    words += [f"--user-data-dir={page.parent / 'user'}", f"--window-size={width},{height}"]
    words += [f"--screenshot={picture}", f"file://{page}"]
    subprocess.run(words, check=True, capture_output=True, timeout=WAIT_S)


def part(page: Path, section: str) -> Path:
    """Return a copy of a page that begins with one section."""
    text = page.read_text()
    hidden = f"<style>header.top, .cards, nav, main > section:not([id$='-{section}']) {{ display: none }}</style>"
    made = page.with_name(f"{section}.html")
    made.write_text(text.replace("</head>", f"{hidden}</head>"))
    return made


async def take_screens(home: Path, ssh_config: Path, run_dir: Path, folder: Path) -> None:
    """Take the screens as SVG, each from a fresh app."""
    from tests.app.driver import opened
    from tui.app.shell import Options
    from tui.model.paths import Paths

    os.environ.pop("NO_COLOR", None)
    environ = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
    paths = Paths.from_environ({"BENCHTUI_HOME": str(home)})
    chosen = Options(paths=paths, ssh_config=ssh_config, profile="demo/quick", environ=environ)
    for name, (size, keys, text) in SCREENS.items():
        async with opened(chosen, size=size) as user:
            for key in keys:
                await user.press(key)
            await user.sees(text)
            (folder / f"{name}.svg").write_text(user.app.export_screenshot(title="benchtui"))
    replayed = Options(paths=paths, watch=run_dir, replay_speed=1.0, environ=environ)
    for name, size in (("live", WIDE), ("live-80x24", NARROW)):
        async with opened(replayed, size=size) as user:
            await user.press("space", *("right" for _ in range(SEEK)))
            await user.sees("p99")
            (folder / f"{name}.svg").write_text(user.app.export_screenshot(title="benchtui"))


async def take_facts(folder: Path) -> None:
    """Take the facts of a run whose hosts differ. It is made up: loopback hosts are one machine, and alike."""
    from tests.app.stage import stage, tab
    from tests.app.test_facts_differ import finished

    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
        async with stage(finished(Path()), WIDE, step="result") as (app, pilot):
            await tab(app, pilot, "facts")
            picture = app.export_screenshot(title="benchtui")
    (folder / "facts.svg").write_text(picture)


def main() -> int:
    """Run, report, take the pictures."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS
    if shutil.which("chromium") is None:
        print("pictures are taken by chromium, which is not installed", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as scratch, SshdLab(Path(scratch) / "lab", hosts=HOSTS) as lab:
        home = Path(scratch) / "home"
        home.mkdir()
        hosts = ["--hosts", f"h[1-{HOSTS}]", "--ssh-config", str(lab.ssh_config)]
        target = ["--set", f"directory={scratch}"]
        words = command("run", "demo/quick", *hosts, *target, *LOAD)
        subprocess.run(words, env=environment(home), stdin=subprocess.DEVNULL, check=False, timeout=WAIT_S)
        run_dir = only_run(home)
        asyncio.run(take_screens(home, lab.ssh_config, run_dir, folder))
        asyncio.run(take_facts(folder))
        page = Path(scratch) / "report.html"
        report = command("report", str(run_dir), "--redact", "-o", str(page))
        subprocess.run(report, env=environment(home), check=True, timeout=WAIT_S)
        take(page, folder / "report.png", 1280, 760)
        take(part(page, "charts"), folder / "report-charts.png", 1280, 1250)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Pictures of a report: of a real run on loopback hosts, taken by chromium."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.e2e.command import command, environment, only_run
from tests.lab.sshd import SshdLab
from tests.long.pictures import WAIT_S

HOSTS = 6
LOAD = ("--set", "runtime=60s", "--set", "size=32M", "--set", "numjobs=2")


def photograph(page: Path, picture: Path, width: int, height: int) -> None:
    """Take a picture of the begin of a page."""
    words = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    words += [f"--user-data-dir={page.parent / 'user'}", f"--window-size={width},{height}"]
    words += [f"--screenshot={picture}", f"file://{page}"]
    subprocess.run(words, check=True, capture_output=True, timeout=WAIT_S)


def part(page: Path, section: str) -> Path:
    """Return a copy of a page that begins with one section."""
    text = page.read_text()
    hidden = (
        f"<style>header.top, .cards, nav, main > section:not([id$='-{section}']) {{ display: none"
        " }</style>"
    )
    made = page.with_name(f"{section}.html")
    made.write_text(text.replace("</head>", f"{hidden}</head>"))
    return made


def take_reports(folder: Path) -> None:
    """Run, report, take the pictures. Raises RuntimeError without chromium."""
    if shutil.which("chromium") is None:
        raise RuntimeError("pictures of reports are taken by chromium, which is not installed")
    with (
        tempfile.TemporaryDirectory() as scratch,
        SshdLab(Path(scratch) / "lab", hosts=HOSTS) as lab,
    ):
        home = Path(scratch) / "home"
        home.mkdir()
        hosts = ["--hosts", f"h[1-{HOSTS}]", "--ssh-config", str(lab.ssh_config)]
        target = ["--set", f"directory={scratch}"]
        words = command("run", "demo/quick", *hosts, *target, *LOAD)
        subprocess.run(
            words, env=environment(home), stdin=subprocess.DEVNULL, check=False, timeout=WAIT_S
        )
        page = Path(scratch) / "report.html"
        report = command("report", str(only_run(home)), "--redact", "-o", str(page))
        subprocess.run(report, env=environment(home), check=True, timeout=WAIT_S)
        photograph(page, folder / "report.png", 1280, 760)
        photograph(part(page, "charts"), folder / "report-charts.png", 1280, 1250)

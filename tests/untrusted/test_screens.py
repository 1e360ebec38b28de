"""Every screen, in a terminal that reads each byte, over text of others: it is shown, and steers
nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.app.pty_screen import PtyScreen
from tests.untrusted.stores import JUDGED

MARK = r"\]0;P\d+"  # what is left to see of the poison
CONTROLS = "\x1b]0;P{}\x07\x1b[31m[/b]\x9b1m\x7f\x85\u2028\u202e\u2066\u200f\u061c\r"
PASTED = "\x1b[200~]0;P7001\x07\x9b1m\u202e\u2066\u061c!\x1b[201~"  # terminals take ESC out of it
ESC, CTRL_C, CTRL_P, TAB = "\x1b", "\x03", "\x10", "\t"
TABS = 10  # of a result, at most
NEWEST_FIRST = (
    "lab/oltp",
    "my/sweep",
    "weka/mdtest",
    "demo/quick",
    "test/mix",
    "test/mix",
    "test/lost",
)
PROFILE = """\
profile: lab/{name}
title: {title}
tool: fio
params:
  directory: {{default: /tmp, kind: directory}}
fio:
  global: {{ioengine: psync, rw: read, bs: 4k, size: 1M, runtime: 5, time_based: 1, directory: "{{directory}}"}}
  jobs: {{a: {{}}}}
headline: {{metric: iops, direction: read}}
"""


def escaped(text: str) -> str:
    """Return text as YAML writes it in double quotes."""
    return "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in text)


def poisoned_files(home: Path) -> None:
    """Write what a user may have been given: profiles, an inventory, a configuration of SSH."""
    lab = home / "profiles" / "lab"
    lab.mkdir(parents=True)
    (lab / "raw.yaml").write_text(PROFILE.format(name="raw", title=f"T{CONTROLS.format(7002)}"))
    (lab / "written.yaml").write_text(
        PROFILE.format(name="written", title=f'"T{escaped(CONTROLS.format(7003))}"')
    )
    (home / "inventory.yaml").write_text("hosts:\n  h1: {address: 127.0.0.1}\n")
    ssh = home.parent / ".ssh"
    ssh.mkdir()
    named = [
        f"Host {name}\n  User u{CONTROLS.format(number)}"
        for number, name in enumerate(("h2", "h3[/b]"), 7004)
    ]
    more = [
        f"  HostName x{CONTROLS.format(7006)}",
        "  ProxyJump j\x1b]0;P7007\x07\u202e",
        "Host \x1b]0;N\x07",
    ]
    (ssh / "config").write_text("\n".join([*named, *more]))


def poisoned_home(home: Path, tmp_path: Path, shared: Path) -> dict[str, str]:
    """Add poisoned files to the runs of a home; return the environment that leads there."""
    poisoned_files(home)
    return {"BENCHTUI_HOME": str(home), "HOME": str(tmp_path), "BENCHTUI_SHARED_RUNS": str(shared)}


def can_be_made_again(run_dir: Path) -> None:
    """Let a run's profile and one of its hosts be known here, so that Review can be filled with
    it.
    """
    plan = json.loads((run_dir / "plan.json").read_bytes())
    plan["profile"]["tag"], plan["hosts"][0]["name"] = "demo/quick", "local"
    (run_dir / "plan.json").write_text(json.dumps(plan))


def changed(screen: PtyScreen, keys: str, sees: str = MARK) -> None:
    """Press keys, and wait until something else is on the screen with a pattern in it."""
    before = screen.text
    screen.keys(keys)
    screen.wait_until(
        lambda: screen.text != before and re.search(sees, screen.text), f"{keys!r}: {sees}"
    )


def dialog(screen: PtyScreen, keys: str, sees: str) -> None:
    """Open what lies over a screen, and close it."""
    before = screen.text.splitlines()[0]
    changed(screen, keys, sees)
    screen.keys(ESC)
    screen.wait_until(
        lambda: not re.search(sees, screen.text) and before in screen.text, f"{keys!r} is closed"
    )


def hosts(screen: PtyScreen) -> None:
    screen.wait_for(rf"h2 .*u {MARK}")
    changed(screen, "jjj", r"╭─ h3\[/b\] ")
    dialog(screen, "?", "Keys on Hosts")
    dialog(screen, CTRL_P, "search|Search|command")


def profiles(screen: PtyScreen) -> None:
    changed(screen, "2", "demo")
    changed(screen, "/", "filter|╰")
    changed(screen, "lab/raw", r"1 of \d+")
    changed(screen, "\r", "U\\+001B")
    changed(screen, "e", rf"title: T\?{MARK}")
    changed(screen, ESC, "╭─ Profiles")


def runs(screen: PtyScreen) -> None:
    changed(screen, "6", r"my/sweep \]0;P")
    changed(screen, "jjjj", r"test/mix \]0;P")
    dialog(screen, "n", "Note on")
    changed(screen, "n", "Note on")
    changed(screen, PASTED, rf"{MARK}.*!")
    changed(screen, ESC)
    for key, title in (
        ("t", "Tags of"),
        ("T", "Title of"),
        ("e", "Export "),
        ("w", "Report of"),
        ("D", "Delete"),
    ):
        dialog(screen, key, title)
    for _ in range(4):
        changed(screen, "k")


def results(screen: PtyScreen) -> None:
    """Go through the tabs of each run."""
    for place, run in enumerate(NEWEST_FIRST):
        if place:
            screen.keys("j")
        changed(screen, "\r", f"{run}.*\\n.*Summary")
        for _ in range(TABS):
            changed(screen, TAB)
        changed(screen, "6", "╭─ Runs")


def replay(screen: PtyScreen) -> None:
    """Live, of a run that is played again; what each key opens there."""
    changed(screen, "k", "╭─ Runs")
    changed(screen, "p", MARK)
    for key in "zzLLffiihm":
        changed(screen, key)
    changed(screen, "6", "╭─ Runs")


def comparison(screen: PtyScreen) -> None:
    """Two runs beside each other, and what is copied of them."""
    for _ in range(2):
        changed(screen, " ")
    changed(screen, "c", "╭─ Compare")
    changed(screen, "l", "the runs have no latencies in common|by latency")
    changed(screen, "y", "Copy from")
    screen.keys("\r")
    screen.wait_until(lambda: screen.copied, "what is copied")
    assert (
        re.search(MARK, screen.copied[0])
        and screen.copied[0].replace("\n", "").replace("\t", "").isprintable()
    )
    changed(screen, "6", "╭─ Runs")


def review(screen: PtyScreen) -> None:
    """The plan of a run that is made again."""
    changed(screen, "g")
    changed(screen, "jjj")
    changed(screen, "r", rf"╭─ Parameters(.|\n)*{MARK}")
    changed(screen, "v", "Job file")


def search(screen: PtyScreen) -> None:
    """Live of a search that is played again."""
    changed(screen, "6", "╭─ Runs")
    changed(screen, "g")
    changed(screen, "p", rf"lab/oltp {MARK}")
    for key in "mmzh":
        changed(screen, key)


WALK: tuple[Callable[[PtyScreen], None], ...] = (
    hosts,
    profiles,
    runs,
    results,
    replay,
    comparison,
    review,
    search,
)


@pytest.mark.parametrize(
    "size", [(80, 24), pytest.param((120, 36), marks=pytest.mark.slow)], ids=["80x24", "120x36"]
)
def test_no_screen_sends_a_terminal_what_others_wrote_as_more_than_text(
    size: tuple[int, int], home: Path, tmp_path: Path, shared: Path
) -> None:
    environ = poisoned_home(home, tmp_path, shared)
    can_be_made_again(home / "runs" / JUDGED)
    with PtyScreen(size, environ=environ) as screen:
        for part in WALK:
            part(screen)
        screen.keys(CTRL_C)
        assert screen.program.exit_code() == 0
        assert screen.strange == []

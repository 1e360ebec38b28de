"""Directories that the runs of a user share: whoever leaves takes an empty one away while another
arrives.
"""

from __future__ import annotations

import shutil
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.remote.conftest import SHELLS, UNDER_EACH
from tui.remote.scripts import functions

# what was made is taken away again by "others" as often as there are tokens: at the worst moment,
# every time
OTHERS = """
mkdir() {
  command mkdir "$@" 2>/dev/null
  set -- "$?"
  for token in "$TOKENS"/*; do
    [ -d "$token" ] && rmdir "$token" $SHARED 2>/dev/null
    break
  done
  return "$1"
}
"""


@pytest.fixture
def user() -> Iterator[str]:
    """The number of a user that nobody is."""
    name = f"test-{uuid.uuid4().hex[:12]}"
    yield name
    shutil.rmtree(f"/tmp/.benchtui-{name}", ignore_errors=True)


def said_by(shell: str, text: str) -> list[str]:
    """What the agent's functions print in one shell."""
    argv = [
        *SHELLS[shell],
        "-c",
        f"{functions('base', 'start', 'locks')}\numask 077\nBT_TOKEN=x\n{text}",
    ]
    return subprocess.run(argv, capture_output=True, text=True, check=False).stdout.splitlines()


def others(directory: Path, times: int, *shared: str) -> str:
    """Return the text by which these directories are taken away that often while they are empty."""
    for number in range(times):
        (directory / "tokens" / str(number)).mkdir(parents=True)
    return f"TOKENS={directory}/tokens SHARED='{' '.join(shared)}'\n{OTHERS}"


@pytest.mark.parametrize("shell", UNDER_EACH)
@pytest.mark.parametrize("times", [1, 2, 5])
def test_a_task_starts_while_other_runs_leave(
    shell: str, times: int, user: str, tmp_path: Path
) -> None:
    base = f"/tmp/.benchtui-{user}"
    text = others(tmp_path, times, f"{base}/run/host", f"{base}/run", base)
    assert said_by(
        shell, f"{text}\nBT_UID={user}; bt_enter_new run/host t; bt_say $BT_NEW; pwd"
    ) == [
        "1",
        f"{base}/run/host/t",
    ]
    assert list((tmp_path / "tokens").iterdir()) == []


@pytest.mark.parametrize("shell", UNDER_EACH)
def test_a_host_is_locked_while_other_runs_leave(shell: str, tmp_path: Path, user: str) -> None:
    text = others(tmp_path, 3, str(tmp_path / f"locks-{user}"))
    call = (
        f"BENCHTUI_LOCKS={tmp_path}/locks BT_UID={user}; bt_lock run host 60 0 anna; ls $BT_LOCKS"
    )
    assert said_by(shell, f"{text}\n{call}") == ["lock.run.host"]
    assert list((tmp_path / "tokens").iterdir()) == []


@pytest.mark.parametrize("shell", UNDER_EACH)
def test_a_directory_that_is_not_ours_is_refused(shell: str, tmp_path: Path, user: str) -> None:
    base = Path(f"/tmp/.benchtui-{user}")
    base.symlink_to(tmp_path)
    try:
        said = said_by(shell, f"BT_UID={user}; bt_enter_new run/host t")
    finally:
        base.unlink()
    assert said[0] == f"error={base} is not a directory of this user: another user created it"
    assert list(tmp_path.iterdir()) == []

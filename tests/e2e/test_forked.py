"""Programs that tests fork are as a shell would start them."""

from __future__ import annotations

import subprocess
import sys

from tests.patience import PATIENCE_S

CODE = """\
import gc, os, signal, socket, sys
from tests.e2e.forked import _become

def interrupted(phase, info):
    os.kill(os.getpid(), signal.SIGINT)

gc.disable()
gc.callbacks.append(interrupted)
streams = [os.dup(number) for number in range(3)]
_become({"argv": [], "environ": {}, "cwd": "/", "umask": None, "session": False}, streams, socket.socket())
gc.collect()
print("went on")
"""


def test_a_ctrl_c_does_not_fall_into_what_its_parent_does_at_collections_of_garbage() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    assert (done.stdout, done.stderr) == ("went on\n", "")

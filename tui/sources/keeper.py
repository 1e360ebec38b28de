"""Release a run's allocation when the last benchtui process that uses it ends.

A keeper is a small shell that reads a pipe. This process and the engine hold the other end. When
both have ended, killed or not, the shell reads end of file and runs the command that releases the
allocation.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Sequence

from tui.sources.base import SourceContext

# Ctrl-C in the terminal is for benchtui; if the scheduler does not answer, the command is
# retried for ten minutes.
SCRIPT = """trap '' HUP INT TERM
while read -r _; do :; done
n=0
while [ $n -lt 60 ]; do
  "$@" </dev/null >/dev/null 2>&1 && exit
  n=$((n + 1))
  sleep 10
done"""
RELEASE_S = 30.0

_held: list[int] = []


class Keeper:
    """A shell that runs `argv` when all benchtui processes that use an allocation have ended."""

    def __init__(self, argv: Sequence[str], context: SourceContext) -> None:
        theirs, self._ours = os.pipe()
        try:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", SCRIPT, "benchtui-keeper", *argv],
                stdin=theirs,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
                env=dict(context.environ),
            )
        except BaseException:
            os.close(self._ours)
            raise
        finally:
            os.close(theirs)
        _held.append(self._ours)

    def release(self) -> None:
        """Release the allocation now, and wait up to 30 s for it.

        The engine must not be running.
        """
        if self._ours in _held:
            _held.remove(self._ours)
            os.close(self._ours)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(RELEASE_S)


def held() -> tuple[int, ...]:
    """Return the file descriptors that an engine must inherit to keep the allocation."""
    return tuple(_held)

"""A real ssh-agent."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S


@contextmanager
def ssh_agent(
    path: Path, keys: Iterable[Path] = (), environ: Mapping[str, str] | None = None
) -> Iterator[Path]:
    """Run an agent on this socket that holds keys, which are added with these variables.

    Skip where there is none.
    """
    if shutil.which("ssh-agent") is None:
        pytest.skip("no ssh-agent on this machine")
    words = ["ssh-agent", "-D", "-a", str(path)]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            # it prints its address once it listens; its socket can be seen before
            process.stdout.readline()
            own = {**os.environ, **(environ or {}), "SSH_AUTH_SOCK": str(path)}
            for key in keys:
                subprocess.run(
                    ["ssh-add", "-q", key], env=own, check=True, stdin=subprocess.DEVNULL
                )
            yield path
        finally:
            process.terminate()
            process.communicate(timeout=PATIENCE_S)

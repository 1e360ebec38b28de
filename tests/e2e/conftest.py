"""Fixtures of the end-to-end tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.sshd import SshdLab, set_env


@pytest.fixture
def two_hosts(tmp_path: Path) -> Iterator[list[str]]:
    """The options that name two hosts over SSH which have the programs of this process's PATH."""
    lab = SshdLab(tmp_path / "lab", hosts=2)
    for host in lab.hosts:
        host.options = (set_env(host.root, f"PATH={os.environ['PATH']}"),)
    with lab:
        yield ["--hosts", "h1,h2", "--ssh-config", str(lab.ssh_config)]

"""A few cases of each sort every time; `make soak` looks at 2,000."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.long.fuzz.mutate import mutated
from tests.long.fuzz.targets import TARGETS

CASES = 4
SLOW = dict.fromkeys(
    ("journal", "record", "marks", "packed record", "packed journal", "packed plan"), 2
)


@pytest.mark.parametrize("name", TARGETS)
def test_a_damaged_file_is_read_or_refused(name: str, home: Path, tmp_path: Path) -> None:
    target, samples = TARGETS[name], TARGETS[name].samples()
    for number in range(SLOW.get(name, CASES)):
        chance = random.Random(f"{name} {number}")
        path = tmp_path / target.name
        path.write_bytes(mutated(chance.choice(samples), chance))
        target.read(path)

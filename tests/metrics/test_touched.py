"""Expected numbers of blocks that random I/O touches, against drawing them, and against what fio
does.
"""

from __future__ import annotations

import random
import subprocess
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.metrics.touched import Part, bell, distinct, even, hottest, pareto, zipf, zones

MANY = 200  # I/Os for each block: as often as it takes to see which are wanted most
Parts = Callable[[float], list[Part]]
KINDS: list[tuple[str, Parts]] = [
    ("random", even),
    ("zipf:0.8", lambda blocks: zipf(blocks, 0.8)),
    ("zipf:1.4", lambda blocks: zipf(blocks, 1.4)),
    ("pareto:0.2", lambda blocks: pareto(blocks, 0.2)),
    ("normal:10", lambda blocks: bell(blocks, 10)),
    ("zoned:99/1:1/99", lambda blocks: zones(blocks, [(0.99, 0.01), (0.01, 0.99)])),
]
parts = st.one_of(
    st.builds(lambda blocks, theta: zipf(blocks, theta), st.integers(1, 3000), st.floats(0.1, 3.0)),
    st.builds(lambda blocks, h: pareto(blocks, h), st.integers(1, 3000), st.floats(0.05, 0.5)),
    st.builds(lambda blocks, sd: bell(blocks, sd), st.integers(1000, 3000), st.floats(0, 100)),
    st.builds(
        lambda blocks, shares: zones(blocks, shares),
        st.integers(100, 3000),
        st.lists(st.tuples(st.floats(0.01, 1), st.floats(0.01, 1)), min_size=1, max_size=5),
    ),
)


@given(parts, st.integers(1, 5000), st.integers(0, 2**32))
def test_as_many_blocks_are_touched_as_drawing_them_touches(
    of: Sequence[Part], ios: int, seed: int
) -> None:
    expected = distinct(of, ios)
    seen = _draw(of, ios, random.Random(seed))
    assert len(seen) == pytest.approx(expected, abs=6 * max(expected, 1.0) ** 0.5 + 0.02 * len(of))


@given(parts, st.floats(0.01, 1.0))
def test_no_fewer_blocks_get_a_share_of_the_ios(of: Sequence[Part], share: float) -> None:
    total = sum(part.blocks for part in of)
    few = hottest(of, share)
    assert sum(part.share for part in of) == pytest.approx(1.0)
    assert 0 < few <= total * (1 + 1e-9)
    assert few <= share * total * (1 + 1e-6), (
        "the blocks that are wanted most get more than their part"
    )


@given(st.integers(1, 2**40), st.floats(0.1, 3.0))
def test_a_zipf_distribution_of_any_size_is_quick_and_whole(blocks: int, theta: float) -> None:
    of = zipf(blocks, theta)
    assert len(of) < 1000
    assert sum(part.blocks for part in of) == pytest.approx(blocks)
    exact = min(blocks, 100)
    assert [part.share / of[0].share for part in of[:exact]] == pytest.approx(
        [k**-theta for k in range(1, exact + 1)]
    )


@pytest.mark.parametrize(("name", "of"), KINDS, ids=[name for name, _ in KINDS])
def test_fio_touches_the_blocks_that_are_expected(name: str, of: Parts, tmp_path: Path) -> None:
    blocks, few = 256, 400
    counts = _of_fio(name, blocks, few, tmp_path / "few")
    expected = min(few, blocks) if name == "random" else distinct(of(blocks), few)
    assert len(counts) == pytest.approx(expected, rel=0.15)
    counts = _of_fio(name, blocks, MANY * blocks, tmp_path / "many")
    sums = list(accumulate(count for _, count in counts.most_common()))
    assert bisect(sums, 0.9 * sums[-1]) + 1 == pytest.approx(
        hottest(of(blocks), 0.9), rel=0.2, abs=2
    )


def _draw(of: Sequence[Part], ios: int, rng: random.Random) -> set[tuple[int, int]]:
    chosen = rng.choices(range(len(of)), weights=[part.share for part in of], k=ios)
    return {(part, int(rng.random() * of[part].blocks)) for part in chosen}


def _of_fio(distribution: str, blocks: int, ios: int, log: Path) -> Counter[str]:
    """Return how often fio asks for each block; its null engine moves nothing."""
    options = [
        "--name=a",
        "--ioengine=null",
        "--filename=none",
        "--rw=randread",
        "--bs=4k",
        "--thread",
    ]
    sizes = [f"--size={blocks * 4096}", f"--io_size={ios * 4096}", f"--number_ios={ios}"]
    asked = [f"--random_distribution={distribution}", f"--write_iolog={log}", "--randseed=7"]
    subprocess.run(
        ["fio", *options, *sizes, *asked], check=True, capture_output=True, cwd=log.parent
    )
    return Counter(line.split()[-2] for line in log.read_text().splitlines() if " read " in line)

"""All doctored cases: on output that is kept, on output that was made for it, and on a real run."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random

from tests.long.lies.doctored import custody, journals, objects
from tests.long.lies.doctored.case import Case, JudgedCase, judged
from tests.long.lies.doctored.documents import fresh, kept
from tests.long.lies.doctored.drawn import ATTEMPTS, cases, drawers
from tests.long.lies.doctored.real_run import RealRun, events_of, judged_again, real_run


def play_doctored(folder: Path, count: int, seed: int, only: str = "") -> list[JudgedCase]:
    """Judge `count` cases of each lie."""
    if not count or only not in "doctored":
        return []
    place = folder / "doctored"
    place.mkdir()
    sources = [*kept(), *fresh(place)]
    found = [judged(case, place) for case in cases(drawers(sources, place), count, seed)]
    print(f"doctored: {len(found)} results", flush=True)
    run = real_run(place)
    found += [judged(case, place) for case in _of_run(run, place, count, seed)]
    print(f"doctored: {len(found)} results and runs", flush=True)
    return found


def _of_run(run: RealRun, folder: Path, count: int, seed: int) -> Iterator[Case]:
    rng, events = Random(seed), events_of(run.run_dir)
    before = judged_again(run)(folder)
    for name in journals.LIES:
        for _ in range(count):
            tries = (journals.draw(rng, run, events, before, name) for _ in range(ATTEMPTS))
            yield from (
                case
                for case in [next((each for each in tries if each is not None), None)]
                if case is not None
            )
    for _ in range(count):
        gets = (objects.draw(rng, run, before) for _ in range(ATTEMPTS))
        yield from islice((case for case in gets if case is not None), 1)
    for name in custody.LIES:
        for _ in range(count):
            made = custody.draw(rng, run, folder, name)
            if made is not None:
                yield made

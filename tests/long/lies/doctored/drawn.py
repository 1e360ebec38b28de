"""Doctored cases, drawn from a seed: as many of each lie, on real output that is drawn as well."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random

from tests.long.lies.doctored import benchmarks, fio_json, fio_logs, reports, several, texts
from tests.long.lies.doctored.case import Case
from tests.long.lies.doctored.documents import Source, imported

SEED = 22
ATTEMPTS = 30  # a lie may find nothing to change in what was drawn
Draw = Callable[[Random], Case | None]


def drawers(sources: Sequence[Source], folder: Path) -> list[Draw]:
    """Return what draws one case of each lie; `folder` is for judging what is not doctored."""
    alone = {source.name: imported(folder, source.hosts[:1]) for source in sources}
    together = {source.name: imported(folder, several.beside(source)) for source in sources}

    def of_json(rng: Random, name: str) -> Case | None:
        source = rng.choice(sources)
        return fio_json.draw(rng, source, alone[source.name], name)

    def of_two(rng: Random) -> Case | None:
        source = rng.choice(sources)
        return fio_json.draw_two(rng, source, alone[source.name])

    def of_hosts(rng: Random, name: str) -> Case | None:
        source = rng.choice(sources)
        return several.draw(rng, source, together[source.name], name)

    shared = any(len(source.hosts) > 1 for source in sources)
    names = [name for name in several.LIES if shared or name not in several.FOR_SEVERAL]
    return [
        *(partial(of_json, name=name) for name in fio_json.LIES),
        of_two,
        *(partial(of_hosts, name=name) for name in names),
        *texts.LIES,
        *benchmarks.LIES,
        *(partial(reports.draw, name=name) for name in reports.LIES),
        *(fio_logs.fio_logs,) * 3,
        fio_logs.histogram_logs,
        texts.terse_rate,
        texts.elbencho_block,
    ]


def cases(draws: Sequence[Draw], count: int, seed: int = SEED) -> Iterator[Case]:
    """Yield `count` cases of each; fewer of what found nothing to change."""
    rng = Random(seed)
    for draw in draws:
        for _ in range(count):
            found = next((case for _ in range(ATTEMPTS) if (case := draw(rng)) is not None), None)
            if found is not None:
                yield found

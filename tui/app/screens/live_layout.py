"""How Live's panels share the lines of the terminal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tui.app.widgets.figure_tiles import TILE_LINES

# from this height on there is room for graphs beside the heat map, and for two lines of health
ROOMY_LINES = 30
GRAPHS, MOST_GRAPHS = 5, 15
HEAT, LEAST_HEAT, MOST_HEAT = 7, 5, 26
CLEAR_HEAT = 7  # with less of a map, what is known so far of two directions gives way to it
HOST_LINES, LEAST_HOST_LINES = 6, 4  # with their heading
HEADS = 2  # lines of the heading of the hosts


@dataclass(frozen=True, slots=True)
class Rooms:
    """Lines of each panel, 0: it is not shown.

    What is left over is the hosts'; `folds`: not all of them have room.
    """

    graphs: int = 0
    heat: int = 0
    pulse: int = 0
    folds: bool = False
    tiles: int = 0


def curve_lines(room: int, least: int, others: int, hosts: int) -> int:
    """Return the lines of a search in `room`: `least`, and what the hosts and the `others` then
    leave.

    Graphs are some of the others: they grow as well.
    """
    spare = max(0, room - others - least - min(hosts, room // 4) - HEADS)
    return min(room - others - LEAST_HOST_LINES, least + (spare * 3 // 5 if others else spare))


@dataclass(frozen=True, slots=True)
class Shown:
    """What shares the lines: the rows of all hosts, those needed when like hosts fold, panels."""

    hosts: int
    least_hosts: int
    graphs: bool = True
    heat: bool = True


def rooms_of(room: int, shown: Shown, *, roomy: bool, low: bool = False) -> Rooms:
    """Share `room` lines among graphs, heat map and hosts.

    On a low terminal (not `roomy`) one line of figures replaces the graphs above the heat map.
    `low`: the heat map may have its least height.
    """
    graphs, heat = shown.graphs, shown.heat
    pulse = int(graphs and heat and not roomy)
    with_graphs = graphs and not pulse
    least_graphs = GRAPHS if with_graphs else 0
    least_heat = (HEAT if roomy and not low else LEAST_HEAT) if heat else 0
    spare = room - pulse - least_graphs - least_heat
    if spare < LEAST_HOST_LINES and with_graphs and heat:
        return rooms_of(room, shown, roomy=False, low=low)
    folds = shown.hosts + HEADS > spare
    wanted = (shown.least_hosts if folds else shown.hosts) + HEADS
    least = min(HOST_LINES if roomy else LEAST_HOST_LINES, spare) if folds else 0
    taken = max(min(wanted, spare), least)
    spare = max(0, spare - taken)
    most_graphs = MOST_GRAPHS - least_graphs if heat or folds else spare
    more_graphs = min(spare * (2 if heat else 5) // 5, most_graphs) if with_graphs else 0
    # no line stays empty where all hosts have theirs
    most_heat = MOST_HEAT - least_heat if folds else spare
    more_heat = min(spare - more_graphs, most_heat) if heat else 0
    return Rooms(least_graphs + more_graphs, least_heat + more_heat, pulse, folds)


def with_tiles(room: int, shared: Rooms, smaller: Rooms) -> Rooms:
    """Return the rooms beside tiles where only graphs and heat map get smaller by them, else those
    without.

    `shared` is how `room` lines are shared without tiles, `smaller` how those are that tiles leave.
    """
    hosts = room - shared.graphs - shared.heat - shared.pulse
    left = room - TILE_LINES - smaller.graphs - smaller.heat - smaller.pulse
    same = (shared.pulse, shared.folds, shared.heat > 0) == (
        smaller.pulse,
        smaller.folds,
        smaller.heat > 0,
    )
    keeps = left >= min(hosts, HOST_LINES)
    return replace(smaller, tiles=TILE_LINES) if same and keeps else shared


def with_tiles_if(tiles: bool, room: int, shared: Callable[..., Rooms]) -> Rooms:
    """Return how `room` lines are `shared`, beside tiles where there are some: the heat map may be
    low then.
    """
    rooms = shared(room)
    return with_tiles(room, rooms, shared(room - TILE_LINES, low=True)) if tiles else rooms

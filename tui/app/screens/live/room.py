"""How the panels of Live share the lines of the terminal. Pure."""

from __future__ import annotations

from dataclasses import dataclass

ROOMY_LINES = 30  # from this height on there is room for graphs beside the heat map, and for two lines of health
GRAPHS, MOST_GRAPHS = 6, 15
HEAT, LEAST_HEAT, MOST_HEAT = 7, 5, 26
CLEAR_HEAT = 7  # with less of a map, what is known so far of two directions gives way to it
HOST_LINES, LEAST_HOST_LINES = 6, 4  # with their heading
HEADS = 2  # lines of the heading of the hosts


@dataclass(frozen=True, slots=True)
class Rooms:
    """Lines of each panel, 0: it is not shown. What is left over is the hosts'; `folds`: not all of them have room."""

    graphs: int = 0
    heat: int = 0
    pulse: int = 0
    folds: bool = False


def curve_lines(room: int, least: int, others: int, hosts: int) -> int:
    """Return the lines of a search in `room`: `least`, and what the hosts and the `others` then leave.

    Graphs are some of the others: they grow as well.
    """
    spare = max(0, room - others - least - min(hosts, room // 4) - HEADS)
    return min(room - others - LEAST_HOST_LINES, least + (spare * 3 // 5 if others else spare))


def rooms_of(room: int, roomy: bool, hosts: int, least_hosts: int, *, graphs: bool = True, heat: bool = True) -> Rooms:
    """Share `room` lines among graphs, heat map and hosts; `least_hosts` rows are needed when alike ones are folded.

    Where there is little room, figures in one line stand for the graphs beside the heat map.
    """
    pulse = int(graphs and heat and not roomy)
    with_graphs = graphs and not pulse
    least_graphs = GRAPHS if with_graphs else 0
    least_heat = (HEAT if roomy else LEAST_HEAT) if heat else 0
    spare = room - pulse - least_graphs - least_heat
    if spare < LEAST_HOST_LINES and with_graphs and heat:
        return rooms_of(room, False, hosts, least_hosts, graphs=graphs, heat=heat)
    folds = hosts + HEADS > spare
    wanted = (least_hosts if folds else hosts) + HEADS
    least = min(HOST_LINES if roomy else LEAST_HOST_LINES, spare) if folds else 0
    taken = max(min(wanted, spare), least)
    spare = max(0, spare - taken)
    most_graphs = MOST_GRAPHS - least_graphs if heat or folds else spare
    more_graphs = min(spare * (2 if heat else 5) // 5, most_graphs) if with_graphs else 0
    most_heat = MOST_HEAT - least_heat if folds else spare  # no line stays empty where all hosts have theirs
    more_heat = min(spare - more_graphs, most_heat) if heat else 0
    return Rooms(least_graphs + more_graphs, least_heat + more_heat, pulse, folds)

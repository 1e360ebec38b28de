"""One registry of host facts: what the probe makes is what screens show."""

from __future__ import annotations

import msgspec
import pytest

from tui.app.screens.live_host import FACTS_SHOWN, host_facts
from tui.journal.fold import fold
from tui.journal.state import RunState
from tui.metrics.facts import fact_text
from tui.model.event import HostFactsCollected
from tui.model.host_tables import TABLES
from tui.model.hostfacts import HOST_FACTS, fact_of
from tui.remote.answers import parse_probe

ANSWER = {
    "kernel": "Linux 6.1.0",
    "cpus": "64",
    "uid": "0",
    "mem_kib": "1048576",
    "os": "Debian",
    "dir.0.exists": "1",
    "dir.0.is_directory": "1",
    "dir.0.fstype": "wekafs",
    "dir.0.source": "cluster/fs",
    "dir.0.mount_point": "/mnt/weka",
    "dir.0.mount_options": "rw",
    "dir.0.total_kib": "2097152",
    "dir.0.free_kib": "1048576",
    "dir.0.used_kib": "524288",
}
KINDS = {"text": str, "number": float}


def test_everything_that_the_probe_makes_is_registered_and_of_its_kind() -> None:
    facts = parse_probe(ANSWER, ["/mnt/weka"]).facts()
    assert set(facts) <= set(HOST_FACTS)
    for name, value in facts.items():
        assert isinstance(value, KINDS.get(HOST_FACTS[name].kind, int)), name


def test_room_that_is_reserved_is_neither_used_nor_free() -> None:
    assert parse_probe(ANSWER, ["/mnt/weka"]).facts()["target_full"] == 1 / 3


def test_live_shows_the_free_space_and_the_file_system_that_the_probe_found() -> None:
    state = RunState()
    fold(
        state,
        HostFactsCollected(t=1.0, host="h1", facts=parse_probe(ANSWER, ["/mnt/weka"]).facts()),
    )
    _, shown, _ = host_facts(state, state.hosts["h1"])
    assert ("free", "1 GiB") in shown
    assert ("file system", "wekafs") in shown
    assert len(shown) == len(FACTS_SHOWN)


def test_a_size_is_written_in_its_unit_and_an_unknown_fact_is_empty() -> None:
    assert fact_text({"mem_bytes": 4 << 30}, "mem_bytes") == "4 GiB"
    assert fact_text({"cpus": 0}, "cpus") == "0"
    assert fact_text({}, "target_fstype") == ""


@pytest.mark.parametrize(
    "name", [name for name, known in HOST_FACTS.items() if known.kind == "table"]
)
def test_columns_that_are_compared_are_columns(name: str) -> None:
    assert set(HOST_FACTS[name].columns) <= {
        each.name for each in msgspec.structs.fields(TABLES[name])
    }


def test_facts_of_a_tool_have_a_title() -> None:
    assert fact_of("fio_sha256").title == "SHA-256 of fio"
    assert fact_of("fio_version").differs == "matters"

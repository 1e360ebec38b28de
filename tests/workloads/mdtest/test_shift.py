"""The rank shift: which client's files a rank works on, by version, placement and -N."""

from __future__ import annotations

import pytest

from tests.samples.words import said
from tui.model.operands import clause
from tui.workloads.mdtest.program import NEXT_CLIENT, Placement, shift_of, shift_warning, stride_for

EIGHT = Placement(8, 136)


@pytest.mark.parametrize(
    ("version", "stride", "placement", "ranks"),
    [
        ("1.9.3", 136, EIGHT, 136),
        ("3.2", 136, EIGHT, 136),
        ("3.3.0", 136, EIGHT, 0),  # 136 x 136 = 17 x 1088
        ("4.0.0", 136, EIGHT, 0),
        ("4.1.0+dev", 1, EIGHT, 136),
        # recorded: "Shifting ranks by 4", own tree in all phases
        ("4.1.0+dev", 2, Placement(2, 2), 0),
        ("4.1.0+dev", 1, Placement(2, 2), 2),  # recorded: "Shifting ranks by 2"
        ("4.1.0+dev", 2, Placement(1, 4), 2),  # recorded: one node is not multiplied
        ("4.1.0+dev", 2, Placement(3, 2), 4),
    ],
)
def test_the_shift_of_a_stride_depends_on_the_version(
    version: str, stride: int, placement: Placement, ranks: int
) -> None:
    assert shift_of(stride, version, placement).ranks == ranks


@pytest.mark.parametrize("version", ["1.9.3", "1.9.4-rc1", "3.2", "3.3.0", "4.0.0", "4.1.0+dev"])
@pytest.mark.parametrize("placement", [EIGHT, Placement(2, 2), Placement(5, 1), Placement(3, 7)])
def test_next_client_is_one_client_on_in_every_version(version: str, placement: Placement) -> None:
    shift = shift_of(stride_for(NEXT_CLIENT, version, placement), version, placement)
    assert shift.ranks == placement.per_node


def test_a_number_that_was_asked_for_is_given_as_it_is() -> None:
    assert stride_for("136", "4.0.0", EIGHT) == 136


def test_eight_clients_never_meet_files_of_their_own() -> None:
    assert shift_warning(shift_of(1, "4.0.0", EIGHT)) is None


def test_a_shift_of_nothing_is_warned_of_with_all_phases() -> None:
    warning = said("mdtest", shift_warning(shift_of(136, "4.0.0", EIGHT)) or "")
    assert (
        "every rank works on its own files" in warning
        and "in stat, read, remove, clients access" in warning
    )


def test_with_two_clients_the_second_shift_comes_home() -> None:
    shift = shift_of(1, "4.0.0", Placement(2, 4))
    assert shift.own_client() == ["read"]
    assert "in read, clients access files that they created themselves" in said(
        "mdtest", shift_warning(shift) or ""
    )


def test_a_shift_within_a_client_is_warned_of() -> None:
    assert shift_of(1, "1.9.3", EIGHT).own_client() == ["stat", "read", "remove"]


def test_one_client_can_only_meet_its_own_files() -> None:
    assert shift_warning(shift_of(2, "4.0.0", Placement(1, 4))) == clause("one-client")

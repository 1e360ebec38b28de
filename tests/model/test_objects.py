"""Sets of objects: which have objects in common, which may be used at the same time, which stay."""

from __future__ import annotations

from typing import Literal

import pytest

from tui.model.objects import ObjectSet, check_apart, have_common_name, objects_after
from tui.model.problem import UsageError

Does = Literal["put", "get", "delete"]


def objects(names: str, does: Does = "put", count: int = 10, store: str = "s3/bench") -> ObjectSet:
    return ObjectSet(store, names, count, 4096, (does,))


@pytest.mark.parametrize(
    ("one", "other", "common"),
    [
        ("x_*_4096", "x_0_4096", True),
        ("x.*", "x.1", True),
        ("h1*", "h11*", True),
        ("*.*", "1.23", True),
        ("*1*", "01*", True),
        ("x.*", "x.", False),
        ("x.*", "x.a", False),
        ("*.*", "1.a", False),
        ("*", "1.2", False),
        ("h1/*", "h11/*", False),
        ("x_*_4096", "x_*_8192", False),
    ],
)
def test_a_star_is_a_number_in_the_names_of_objects(one: str, other: str, common: bool) -> None:
    assert (have_common_name(one, other), have_common_name(other, one)) == (common, common)


@pytest.mark.parametrize(
    ("mine", "its"),
    [
        (objects("x.*", "delete"), objects("x.1", "get")),
        (objects("x.1", "get"), objects("x.*", "delete")),
        (objects("x.*", "put"), objects("x.*", "put")),
    ],
)
def test_hosts_that_change_each_others_objects_are_refused(mine: ObjectSet, its: ObjectSet) -> None:
    between = [
        ("h3", objects("x.0a")),
        ("h4", objects("w")),
        ("h5", objects("x.1", store="s3/other")),
    ]
    with pytest.raises(UsageError, match=r"h[12] and h[12] use the same objects"):
        check_apart([("h1", mine), *between, ("h2", its)])


def test_hosts_may_get_the_same_objects() -> None:
    check_apart(
        [
            ("h1", objects("x.*", "get")),
            ("h2", objects("x.*", "get")),
            ("h3", objects("x.1", "get")),
        ]
    )


@pytest.mark.parametrize(("deleted", "left"), [(100, [1000]), (1000, [])])
def test_objects_stay_unless_as_many_are_deleted_as_were_put(deleted: int, left: list[int]) -> None:
    used = [
        objects("x.*", "put", 1000),
        objects("x.*", "put", 100),
        objects("x.*", "delete", deleted),
    ]
    assert [each.count for each in objects_after(used)] == left

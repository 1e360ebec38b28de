"""Which function takes which kind of event: one table a state, filled where the function stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

S = TypeVar("S")
E = TypeVar("E")


class Handlers(Generic[S]):
    """By kind of event, the function that takes it into a state; kinds without one are passed over."""

    def __init__(self) -> None:
        self._by_kind: dict[type, Callable[[S, Any], None]] = {}

    def on(self, kind: type[E]) -> Callable[[Callable[[S, E], None]], Callable[[S, E], None]]:
        """Register the function below for a kind of event."""

        def register(function: Callable[[S, E], None]) -> Callable[[S, E], None]:
            self._by_kind[kind] = function
            return function

        return register

    def get(self, kind: type) -> Callable[[S, Any], None] | None:
        """Return the function for a kind of event; None: nobody wants it."""
        return self._by_kind.get(kind)

"""A test kit for packages that provide load generators: replays recorded output.

    from tui.testing import replay

    def test_recorded_output_keeps_the_contract() -> None:
        replay(MyTool, Path("profile.yaml"), {"h1": Path("h1.out"), "h2": Path("h2.out")})

`replay` checks the whole contract and raises `ContractError`, an AssertionError with one line per
mistake; `CODES` lists the mistakes it finds. It needs no test framework. The kits for sources and
transports are in `tui.testing.sources` and `tui.testing.transports`."""

from __future__ import annotations

from tui.testing.replay import Replayed, replay
from tui.testing.streams import CODES, ContractError, Mistake, Output

__all__ = ["CODES", "ContractError", "Mistake", "Output", "Replayed", "replay"]

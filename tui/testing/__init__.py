"""A test kit for load generators of other packages: recorded output goes through the whole
contract.

    from tui.testing import replay

    def test_recorded_output_keeps_the_contract() -> None:
        replay(MyTool, Path("profile.yaml"), {"h1": Path("h1.out"), "h2": Path("h2.out")})

It raises `ContractError`, an AssertionError with a line for each mistake; `CODES` has what it looks
for. It needs no test framework, and nothing of benchtui outside of this package imports it."""

from __future__ import annotations

from tui.testing.replay import Replayed, replay
from tui.testing.streams import CODES, ContractError, Mistake, Output

__all__ = ["CODES", "ContractError", "Mistake", "Output", "Replayed", "replay"]

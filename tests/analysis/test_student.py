from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.analysis.stats import t_beyond, t_reach

degrees_of_freedom = st.floats(1, 1e5)


@given(degrees_of_freedom, st.floats(0, 50))
def test_the_tail_is_that_of_scipy(degrees: float, t: float) -> None:
    from scipy import special

    assert t_beyond(degrees, t) == pytest.approx(special.stdtr(degrees, -t), rel=1e-7, abs=1e-290)


@given(degrees_of_freedom, st.floats(1e-100, 0.5))
def test_the_reach_is_that_of_scipy(degrees: float, beyond: float) -> None:
    from scipy import special

    assert t_reach(degrees, beyond) == pytest.approx(
        -special.stdtrit(degrees, beyond), rel=1e-6, abs=1e-9
    )


@given(degrees_of_freedom, st.floats(-100, -0.4))
def test_a_share_is_beyond_its_reach_however_small(degrees: float, power: float) -> None:
    beyond = 10**power
    assert t_beyond(degrees, t_reach(degrees, beyond)) == pytest.approx(beyond, rel=1e-6)

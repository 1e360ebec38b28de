from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.analysis.stats import t_beyond, t_quantile

degrees_of_freedom = st.floats(1, 1e5)


@given(degrees_of_freedom, st.floats(0, 50))
def test_the_tail_is_that_of_scipy(degrees: float, t: float) -> None:
    from scipy import special

    assert t_beyond(degrees, t) == pytest.approx(special.stdtr(degrees, -t), rel=1e-7, abs=1e-290)


@given(degrees_of_freedom, st.floats(0.5, 0.99999))
def test_the_quantile_is_that_of_scipy(degrees: float, share: float) -> None:
    from scipy import special

    assert t_quantile(degrees, share) == pytest.approx(
        special.stdtrit(degrees, share), rel=1e-7, abs=1e-9
    )


@given(st.integers(1, 60), st.floats(1e-12, 0.4))
def test_a_share_is_beyond_its_quantile(degrees: int, beyond: float) -> None:
    assert t_beyond(degrees, t_quantile(degrees, 1 - beyond)) == pytest.approx(beyond, rel=1e-4)

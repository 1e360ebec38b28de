"""Names of percentiles in journals and records: plain numbers from 0 to 100 such as "99.9", and nothing else.

Whatever is read is held to that by its type, so that later code may take the number of any name.
"""

from __future__ import annotations

import re
from typing import Annotated

from msgspec import Meta

_FORM = r"(100|(0|[1-9][0-9]?)(\.[0-9]{0,5}[1-9])?)"
PATTERN = rf"^{_FORM}$"
"""For JSON Schema and pydantic, whose $ is the end of the text; that of Python lets a newline follow."""
MEAN = "mean"
MEAN_PATTERN = rf"^({MEAN}|{_FORM})$"
PercentileName = Annotated[str, Meta(pattern=rf"^{_FORM}\Z", description="a percentile from 0 to 100 such as '99.9'")]
MeanOrPercentile = Annotated[
    str, Meta(pattern=rf"^({MEAN}|{_FORM})\Z", description="'mean' or a percentile such as '99.9'")
]
_PRINTED = r"(100(\.0{1,30})?|[0-9]{1,2}(\.[0-9]{1,30})?)"
PrintedPercentile = Annotated[str, Meta(pattern=rf"^{_PRINTED}\Z")]
"""As tools print it, such as "99.900000"."""


def is_percentile(name: str) -> bool:
    """Tell whether a text is the name of a percentile, such as "99.9"."""
    return re.fullmatch(_FORM, name) is not None


def percentile_name(printed: str) -> str | None:
    """Return the name of a percentile as tools print it: ``99.900000`` is "99.9"; None: it is none."""
    if re.fullmatch(_PRINTED, printed) is None:
        return None
    whole, _, part = printed.partition(".")
    name = f"{int(whole)}.{part.rstrip('0')}".rstrip(".")
    return name if is_percentile(name) else None

"""Times of day as they stand in journals and records."""

from __future__ import annotations

from datetime import UTC, datetime


def parse_utc(text: str) -> datetime | None:
    """Return a time of day from RFC 3339; None when it is none."""
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return None
    return when.astimezone(UTC) if when.tzinfo is not None else when.replace(tzinfo=UTC)


def format_utc(when: datetime) -> str:
    """Return RFC 3339 with milliseconds and Z."""
    return when.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

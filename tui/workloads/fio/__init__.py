"""fio: job files, the live status stream, results, errors."""

from __future__ import annotations

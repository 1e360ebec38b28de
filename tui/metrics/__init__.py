"""Latency histograms in fio's buckets, rate series, units and their text forms.

Imports nothing but the model.
"""

from __future__ import annotations

"""Figures as people read them, the same in tables, progress and pages."""

from __future__ import annotations


def thousands(value: int | None) -> str:
    """``"183 619"``; ``"-"`` for None."""
    return "-" if value is None else f"{value:,}".replace(",", " ")


def percent(gap: float | None) -> str:
    """``"2.3 %"``; ``"0.0 %"`` only for a gap of zero."""
    if gap is None:
        return "-"
    return "<0.1 %" if 0 < gap < 0.0005 else f"{100 * gap:.1f} %"


def duration(seconds: float) -> str:
    """``"0.3 s"``, ``"41 s"``, ``"12 min"``."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 600 else f"{seconds / 60:.0f} min"

"""Special registers of a supervisor, what they hold, and the zones of ``sync``."""

from __future__ import annotations

INCOMING_MUX = 0xA0
"""Source of the words that a tile receives (ipu21.md 4)."""
INCOMING_BASE, OUTGOING_BASE = 0xA4, 0xA7
"""Bytes that addresses of received and sent words count from (ipu21.md 4)."""
DOWN_COUNT = 0xA6
"""Words that ``sync 0`` waits for (ipu21.md 4)."""
NEUTRAL = 0x640
"""Mux of no source (ipu21.md 3.3)."""

WORDS, LOCAL, PHASES, ALL_TILES, WITH_HOST = 0, 1, 3, 7, 15
"""Zones: the words of the down-count, the tile itself, the tiles of an exchange phase, all tiles, the
host too (ipu21.md 4, package.md 3.4)."""

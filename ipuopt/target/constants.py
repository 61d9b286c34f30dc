"""Counts, rates and latencies of the IPU21 (C600)."""

from __future__ import annotations

TILES = 1472
"""Tiles of the chip; a program may use the first N logical ones (ipu21.md 1)."""
WORD_BYTES = 4
"""Bytes of one exchange word (ipu21.md, units)."""
MAX_WORDS = 4148
"""Longest transfer in words: one send of 64 and the longest continuation (ipu21.md 3)."""
EXCHANGE_BYTES_PER_CYCLE = 4
"""Exchange rate of a tile, each way (ipu21.md 5)."""
SYNC_CYCLES = 600
"""Global synchronisation of one exchange phase (ipu21.md 3 and 5)."""
WORKERS = 6
"""Worker threads of a tile (ipu21.md 5)."""

SOURCE_LATENCY = 1
"""Events from a word's arrival time T to the source window: X = P + T + 1 (ipu21.md 3.1)."""
SEND_LATENCY = 6
"""Events from P - P0 to the end of the sender's row, where the message is no longer (ipu21.md 3.1)."""
RECEIVE_LATENCY = 57
"""Events from the end of the source window to the end of the row on row 0 (ipu21.md 3.1)."""
ROW_LATENCY = 2
"""Events that each row of the chip adds to the write window and to the end (ipu21.md 3.1)."""

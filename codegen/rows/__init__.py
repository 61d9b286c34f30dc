"""Exchange rows: the words that each tile runs in one phase, from a schedule and back.

A row is straight-line code timed in events since the sync (``ipu21.md`` 3, 4). Its steps are the
starts and ends of the tile's messages and the control events of what it receives
(:mod:`~ipuopt.codegen.rows.steps`); :mod:`~ipuopt.codegen.rows.emission` writes them as
instructions of one table (:mod:`~ipuopt.codegen.rows.instructions`). Decoded events are joined
over all tiles to a schedule again (:mod:`~ipuopt.codegen.rows.rebuild`). Rows of a repeat differ in
some words from iteration to iteration (:mod:`~ipuopt.codegen.rows.patches`). Whether the rows of a
program can fit a tile at all is known before anything is scheduled
(:mod:`~ipuopt.codegen.rows.room`).
"""

from __future__ import annotations

from ipuopt.codegen.rows.decode import Events, decode_row, decode_rows
from ipuopt.codegen.rows.encode import Rows, encode_rows
from ipuopt.codegen.rows.files import write_rows
from ipuopt.codegen.rows.patches import Patches, patches_of
from ipuopt.codegen.rows.rebuild import rebuild

__all__ = [
    "Events",
    "Patches",
    "Rows",
    "decode_row",
    "decode_rows",
    "encode_rows",
    "patches_of",
    "rebuild",
    "write_rows",
]

"""Exchange rows: the words that each tile runs in one phase, from a schedule and back.

A row is straight-line code timed in events since the sync (``ipu21.md`` 3, 4). Its steps are the
starts and ends of the tile's messages and the control events of what it receives
(:mod:`~ipuopt.codegen.rows.steps`); :mod:`~ipuopt.codegen.rows.emission` writes them as
instructions of one table (:mod:`~ipuopt.codegen.rows.instructions`).
"""

from __future__ import annotations

from ipuopt.codegen.rows.encode import Rows, encode_rows

__all__ = ["Rows", "encode_rows"]

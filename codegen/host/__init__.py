"""Transfers between host and tiles: batches, packets, and the code of every tile (``package.md`` 3.4).

Data moves in pieces of at most 4096 bytes; batch k holds the k-th piece of every tile that has one.
Every tile takes part in every batch: it is the target of a transfer, it requests transfers for others,
or it only synchronises. Tiles have physical numbers here.
"""

from __future__ import annotations

from ipuopt.codegen.host.batches import Batches, batches_of, host_exchange, slots_of
from ipuopt.codegen.host.code import Part, Way, parts_of

__all__ = ["Batches", "Part", "Way", "batches_of", "host_exchange", "parts_of", "slots_of"]

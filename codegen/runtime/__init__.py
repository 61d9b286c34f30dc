"""The runtime of a tile as words: start, end and the helpers of ``runtime.s``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

import numpy as np

from ipuopt.codegen.isa import WordArray, assemble
from ipuopt.target.constants import WORD_BYTES

__all__ = [
    "COMPLETION",
    "FIRST_SAMPLE",
    "HOST_CLOSE",
    "HOST_PACKETS",
    "HOST_STAGING",
    "LAST_SAMPLE",
    "PREFIX",
    "PUBLIC",
    "SEED_STEP",
    "WORKER_STACK_BASE",
    "Runtime",
    "places",
    "runtime",
    "seeds",
]

PREFIX = "ipu_stack_static_"
"""Of the symbols in a package (package.md 4.2)."""
PUBLIC = (
    "start",
    "complete",
    "worker_barrier",
    "patch_row",
    "patch_word",
    "copy_u32",
    "repeat_call",
    "host_run",
    "sample_cycle",
    "idle_row",
    "idle_batch",
)
"""Labels that are symbols of a package; the others are places inside these."""
COMPLETION = 0x58000
"""0 until the program has ended, then 1 (package.md 2)."""
FIRST_SAMPLE, LAST_SAMPLE = 0x58004, 0x58008
"""Cycle samples around all steps (package.md 2)."""
WORKER_STACK_BASE = 0x580E0
"""Base of worker 0; the others follow every 0x100 (package.md 2)."""
HOST_PACKETS, HOST_CLOSE, HOST_STAGING = 0x50000, 0x50160, 0x50180
"""Host exchange aperture: packet words, target of close packets, received data (package.md 2)."""
SEED_STEP = 8
"""Between the seeds of two tiles: three bits are left to the number of the worker (package.md 3.1)."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """Words for tile 0, and where those of other tiles differ.

    Attributes
    ----------
    address
        Of the first word.
    words
        Of logical tile 0.
    symbols
        Addresses by name, without :data:`PREFIX`.
    """

    address: int
    words: WordArray
    symbols: dict[str, int]

    @property
    def stop(self) -> int:
        """First address behind the code."""
        return self.address + WORD_BYTES * len(self.words)

    def of_tile(self, tile: int) -> WordArray:
        """Words of a logical tile: its seeds are its own."""
        words = self.words.copy()
        for name in ("context_seed", "next_seed"):
            place = (self.symbols[name] - self.address) // WORD_BYTES
            words[place] += np.uint32(SEED_STEP * tile)
        return words


@lru_cache(maxsize=1)
def _source() -> str:
    return (resources.files(__package__) / "runtime.s").read_text("utf-8")


def places(program: int) -> dict[str, int]:
    """Names outside the code that are the same on all tiles, for a program that starts there."""
    return {
        "program": program,
        "completion": COMPLETION,
        "worker_stack_base": WORKER_STACK_BASE,
        "host_staging": HOST_STAGING,
    }


def seeds() -> dict[str, int]:
    """Names that stand for another number on each tile: that of logical tile 0."""
    return {"worker_sync_context": 0, "prng_seed": SEED_STEP}


def runtime(address: int, program: int) -> Runtime:
    """The runtime at ``address``, for a tile program that starts at ``program``."""
    outer = {**places(program), **seeds(), "host_packets": HOST_PACKETS}
    code = assemble(_source(), address, outer)
    return Runtime(address, np.array(code.words, np.uint32), dict(code.labels))

"""Every label that a user may see stands in the docs; those of transfers with the host."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from ipuopt.device import packets
from ipuopt.device.faults import FAULTS, STOPS
from ipuopt.errors import CheckError
from ipuopt.target.memory import BASE, SIZE

PAGE = Path(__file__).resolve().parents[2] / "docs" / "run.md"
TILE = 5
OWN = TILE // 2 << 16 | TILE % 2 << 15
TO_HOST = (0xA0000000 + OWN, 1 << 31 | 1)
"""Header of 64 bytes from the tile to host offset 0 (package.md 3.4)."""


def test_labels_of_the_docs() -> None:
    rows = re.findall(r"^\| (`[a-z`, ]+`) \|", PAGE.read_text(), re.MULTILINE)
    listed = [label for row in rows for label in re.findall(r"`([a-z]+)`", row)]
    known = {label for label, _ in (*FAULTS.values(), *STOPS.values())}
    assert sorted(listed) == sorted(known | {"host", "step", "kernel", "operand"})


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (TO_HOST[:1], "a packet that is cut short"),
        (TO_HOST, "data that are cut short"),
        ((TO_HOST[0] ^ 1 << 15, TO_HOST[1]), "the header"),
        ((TO_HOST[0], TO_HOST[1] + (1 << 20)), "a packet at host offset"),
        ((0xEC000000 + OWN, 1 << 31 | 1), "the header"),
        ((0xE0000200 + OWN, 1 << 31 | 1), "a chain of packets that goes on"),
    ],
)
def test_packets_that_are_none(words: tuple[int, ...], found: str) -> None:
    memory = np.zeros(SIZE // 4, np.uint32)
    with pytest.raises(CheckError, match=rf"host: tile {TILE}: found {found}"):
        packets.perform(TILE, np.array(words, np.uint32), memory, BASE, np.zeros(1024, np.uint32))


@pytest.mark.parametrize(
    ("waiting", "bits", "mux", "found"),
    [
        ([TILE], 0, 0x605, "a transfer that nobody requested"),
        ([TILE], 1, 0x604, "mux 0x604, expected 0x605"),
        ([TILE], 1, 0x605, "1 words, expected the 0"),
        ([], 1, 0x605, "a request and no transfer"),
        ([TILE], 1 << 24, 0x605, "a bitmap word"),
    ],
)
def test_batches_that_do_not_fit(waiting: list[int], bits: int, mux: int, found: str) -> None:
    """Tile 5 is its own requester (5 & 0x3d); its packet is the read of nothing that ends a transfer."""
    outgoing = np.zeros((TILE + 1, 8), np.uint32)
    outgoing[TILE, :4] = bits, 0, 0xCC000200 + OWN + 11, 1 << 31
    sent, counts, muxes = np.full(TILE + 1, 4), np.zeros(TILE + 1, np.int64), np.full(TILE + 1, mux)
    memory = np.zeros((TILE + 1, SIZE // 4), np.uint32)
    with pytest.raises(CheckError, match=rf"host: tile {TILE}: found {found}"):
        packets.batch(
            *(np.array(waiting, np.int64), np.array([TILE]), sent, outgoing, counts, muxes),
            *(memory, BASE, np.zeros(1024, np.uint32)),
        )

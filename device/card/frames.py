"""Images of tiles as the frames that a secondary loader takes (``device.md`` 3.3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ipuopt.codegen.package import TileImage
from ipuopt.codegen.package.check import LOAD_BATCH, LOAD_START
from ipuopt.device.calls import Bytes
from ipuopt.target.memory import LOADABLE_END

FRAME_BYTES, PAYLOAD_BYTES = 1024, 992
_HEAD_BYTES, _FILL_BYTES = 16, 16
LEAST_IMAGE_BYTES = 0x4134
"""A shorter image is padded: one of a single frame is never acknowledged."""
FIRST_FRAME = 4096
"""Offset of the first frame of a batch, behind the places of its tiles."""
LAST_FRAME = 0x08000000
"""Third word of the last frame of a tile."""
MOST_FRAMES = (LOADABLE_END - LOAD_START) // PAYLOAD_BYTES
BUFFER_BYTES = 0x2842000
"""Buffer of a batch; it holds 64 tiles of :data:`MOST_FRAMES` frames."""


def image_of(tile: TileImage) -> Bytes:
    """Bytes from the lowest address to the end of the highest segment, zero where there is none."""
    used = [segment for segment in tile.segments if segment.memory_size]
    low, high = min(s.address for s in used), max(s.stop for s in used)
    image = np.zeros(high - low, np.uint8)
    for segment in used:
        start = segment.address - low
        image[start : start + len(segment.data)] = np.frombuffer(segment.data, np.uint8)
    return image


def frames_of(tile: int, image: Bytes) -> Bytes:
    """Frames of a physical tile, shape ``(frames, 1024)``."""
    count = -(-max(len(image), LEAST_IMAGE_BYTES) // PAYLOAD_BYTES)
    payload = np.zeros(count * PAYLOAD_BYTES, np.uint8)
    payload[: len(image)] = image
    head = np.zeros((count, _HEAD_BYTES // 4), "<u4")
    head[:, 0] = np.arange(count)
    head[:, 1] = tile
    head[-1, 2] = LAST_FRAME
    fill = np.full((count, _FILL_BYTES), 0xFF, np.uint8)
    parts = (head.view(np.uint8), payload.reshape(count, PAYLOAD_BYTES), fill)
    return np.concatenate(parts, axis=1)


def batches_of(tiles: Sequence[TileImage]) -> list[Sequence[TileImage]]:
    """Tiles that are loaded together, in the order of the package."""
    return [tiles[start : start + LOAD_BATCH] for start in range(0, len(tiles), LOAD_BATCH)]


def fill(buffer: Bytes, tiles: Sequence[TileImage]) -> None:
    """Put a batch into the buffer: places of all tiles, then their frames without gaps."""
    buffer[:] = 0
    offset = FIRST_FRAME
    places = np.zeros((len(tiles), 2), "<u4")
    for slot, tile in enumerate(tiles):
        frames = frames_of(tile.physical_tile, image_of(tile))
        places[slot] = offset, len(frames)
        buffer[offset : offset + frames.size] = frames.ravel()
        offset += frames.size
    buffer[: places.nbytes] = places.view(np.uint8).ravel()

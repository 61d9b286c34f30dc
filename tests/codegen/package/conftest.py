"""A package that a loader takes, and the one of the vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ipuopt.codegen.package import (
    ALL_TILES,
    Activity,
    Binding,
    EntryPoint,
    HostCall,
    HostExchange,
    Package,
    ProfilePlan,
    Region,
    Segment,
    Slices,
    Step,
    TileImage,
    no_slices,
)
from ipuopt.target.fabric import PHYSICAL


def slices_of(*rows: tuple[int, int, int, int]) -> Slices:
    return Slices(*np.array(rows, np.uint64).reshape(-1, 4).T)


@pytest.fixture
def sample() -> Package:
    """64 tiles; a tensor on two of them, a call with two batches, a profile, names."""
    images = tuple(
        TileImage(
            number,
            (Segment(0x4C010, 16, b"\x01\x02\x03\x04", 5), Segment(0x80000, 64, b"", 3)),
            0x4C010,
            0,
            0x58000,
        )
        for number in sorted(PHYSICAL[:64].tolist())
    )
    steps = (
        Step("exchange", "operation.0", "exchange", 0, 1 << 31, 0, 9, (("reason", "weights"),)),
        Step("compute", "operation.1", "k", 1, 1, activities=(Activity("receive", 3, 4),)),
    )
    run = HostCall(
        "run",
        0,
        3,
        slices_of((1, 0, 0, 16), (1, 4096, 16, 16)),
        slices_of((1, 0, 0, 8)),
        (1, 2),
        (1,),
    )
    return Package(
        producer="a test",
        tiles=images,
        inputs=(Binding("x", "f16", (2, 8), slices_of((0, 0x80000, 0, 16), (2, 0x80000, 16, 16))),),
        outputs=(Binding("completion", "u32", (1,), slices_of((0, 0x58000, 0, 4))),),
        weights=(Binding("w", "f16", (0,), no_slices()),),
        host=HostExchange(23, 0, 0, ((0, 4096), (1, 8192)), (0, 1), (run,)),
        entry_points=(EntryPoint("run", 0, 0),),
        config_writes=((0x3044, 1),),
        profile=(ProfilePlan(2, steps),),
        symbols=(("start", 0x4C018),),
        regions=(Region(ALL_TILES, 0x4C018, 8, "linked executable"),),
    )


@pytest.fixture(scope="session")
def vector(vectors: dict[str, Any]) -> bytes:
    """The package file of the vectors."""
    return bytes.fromhex(vectors["package"]["hex"])


@pytest.fixture
def vector_file(vector: bytes, tmp_path: Path) -> Path:
    """The same as a file."""
    path = tmp_path / "vector.ipuexe"
    path.write_bytes(vector)
    return path

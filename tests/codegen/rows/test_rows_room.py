"""Least size of rows: by hand, and never above what the encoder writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import ipuopt
from ipuopt.codegen.lower import lower
from ipuopt.codegen.phases import exchange_problem
from ipuopt.codegen.rows import encode_rows, room
from ipuopt.codegen.rows.room import least_row_words, refuse_long_rows
from ipuopt.errors import InfeasibleError
from ipuopt.limits import Limits
from ipuopt.models import exchange, placement
from ipuopt.models.mapping import check
from ipuopt.models.mapping.problem import Solution
from ipuopt.models.mapping.space import build_space
from ipuopt.program import (
    CopyTable,
    IntArray,
    Program,
    ProgramStep,
    RunTable,
    ShardTable,
    StepKind,
    TransferTable,
)

EXAMPLES = Path(__file__).parents[3] / "examples"


def hand_program(transfers: Sequence[tuple[int, int, int, int, int]]) -> Program:
    """Rows of step, words, sending shard, receiving shard, offset in it; shard i lies on tile i."""
    step, words, source, destination, offset = np.array(transfers, dtype=np.int64).reshape(-1, 5).T
    columns = {column.name: np.zeros(3, dtype=np.int64) for column in fields(ShardTable)}
    columns |= {"tile": np.arange(3), "size_bytes": np.full(3, 4096)}
    empty: IntArray = np.zeros(0, dtype=np.int64)
    return Program(
        tiles=4,
        steps=tuple(
            ProgramStep(kind, 0, name)
            for kind, name in (
                (StepKind.PHASE, "gather"),
                (StepKind.RUN, "sum"),
                (StepKind.PHASE, "retile"),
            )
        ),
        shards=ShardTable(**columns),
        runs=RunTable(*(empty for _ in fields(RunTable))),
        copies=CopyTable(*(empty for _ in fields(CopyTable))),
        transfers=TransferTable(
            step=step,
            source=source,
            source_offset=np.zeros(len(step), dtype=np.int64),
            words=words,
            destination_start=np.arange(len(step) + 1),
            destination=destination,
            destination_offset=offset,
        ),
        distinct=np.zeros((0, 2), dtype=np.int64),
    )


HAND = (
    (0, 16, 0, 1, 0),  # at the start of a buffer another buffer may end: no pointer is sure
    (0, 16, 0, 1, 64),  # continues the first one
    (0, 16, 2, 1, 256),  # continues nothing
    (2, 16, 0, 1, 64),  # in another phase
)


def test_words_by_hand() -> None:
    sends, receives, returns = least_row_words(hand_program(HAND))
    assert sends.tolist() == [[2, 0, 1, 0], [1, 0, 0, 0]]
    # three sources, the neutral, a pointer; one source, the neutral, a pointer
    assert receives.tolist() == [[0, 5, 0, 0], [0, 3, 0, 0]]
    assert returns.tolist() == [[1] * 4, [1] * 4]


def test_refused_above_the_room_only(monkeypatch: pytest.MonkeyPatch) -> None:
    program = hand_program(HAND)
    monkeypatch.setattr(room, "ROW_ROOM", 4 * 10)
    refuse_long_rows(program)
    monkeypatch.setattr(room, "ROW_ROOM", 4 * 10 - 4)
    with pytest.raises(InfeasibleError) as caught:
        refuse_long_rows(program)
    assert str(caught.value).startswith(
        "tile 1, exchange rows, most of them for step 0 (gather): needs 40 bytes of 36, "
        "to send 0, to receive 32 (largest: gather 24, retile 16)"
    )


def test_program_without_phases() -> None:
    refuse_long_rows(hand_program(()))


def ratio(program: Program) -> float:
    """Words of all rows, scheduled by the heuristic, over the least ones; none is below."""
    placed, _ = placement.solve_program(program, Limits(), heuristic_only=True)
    assert placed is not None
    least = least_row_words(program).sum(axis=0)
    encoded = np.zeros_like(least)
    for phase in range(len(program.phases)):
        problem = exchange_problem(program, placed.address, phase)
        solution, _ = exchange.schedule_heuristic(problem)
        encoded[phase] = np.diff(encode_rows(problem, solution).bounds)
    assert np.all(least <= encoded)
    return float(encoded.sum() / least.sum())


def test_encoded_rows_are_never_shorter() -> None:
    """Random plans of a small block."""
    workload = ipuopt.load(EXAMPLES / "mlp-tiny.yaml")
    space = build_space(workload, Limits(deterministic=True))
    random = np.random.default_rng(0)
    tried = 0
    while tried < 6:
        labels = tuple(int(random.integers(len(node.standard))) for node in space.problem.nodes)
        if not check(space.problem, Solution(labels)):
            assert 1 <= ratio(lower(space.plan(Solution(labels)))) < 4
            tried += 1

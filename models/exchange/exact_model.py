"""CP-SAT model of one component of a phase: an order for each pair of transfers that share anything."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from ortools.sat.python import cp_model

from ipuopt.models.exchange.instance import Instance
from ipuopt.models.exchange.pairs import Pairs
from ipuopt.models.exchange.problem import BoolArray, IntArray
from ipuopt.models.exchange.timing import horizon_of


@dataclass(frozen=True, slots=True)
class Model:
    """The CP-SAT model and the handles needed to read it back.

    Attributes
    ----------
    cp
        The model.
    start, horizon
        Start of each transfer; end of the component.
    literals
        Of each entry of the pairs: whether the difference of starts lies above its interval.
    twins
        Transfers that may be exchanged for each other, in the order in which they must start.
    """

    cp: cp_model.CpModel
    start: tuple[cp_model.IntVar, ...]
    horizon: cp_model.IntVar
    literals: tuple[cp_model.IntVar, ...]
    twins: tuple[tuple[int, ...], ...]


def build(phase: Instance, pairs: Pairs, pointers: BoolArray, least: int, most: int) -> Model:
    """Translate a component into CP-SAT, without (E4) and (E7); no solving.

    Parameters
    ----------
    phase, pairs
        Forward instance of one component, and what it forbids.
    pointers
        Receivers whose pointer event can never be dropped; these tell transfers apart.
    least, most
        Range of the horizon.
    """
    cp = cp_model.CpModel()
    horizon = cp.new_int_var(least, most, "horizon")
    start = tuple(
        cp.new_int_var(head, most - tail, f"start[{j}]")  # (E1)
        for j, (head, tail) in enumerate(zip(phase.head.tolist(), phase.tail.tolist(), strict=True))
    )
    for at, tail in zip(start, phase.tail.tolist(), strict=True):
        cp.add(at + tail <= horizon)
    literals = []
    for i, j, low, high in zip(*(column.tolist() for column in pairs), strict=True):
        above = cp.new_bool_var("")  # (E2), (E3), (E6)
        cp.add(start[j] - start[i] >= high).only_enforce_if(above)
        cp.add(start[j] - start[i] <= low).only_enforce_if(~above)
        literals.append(above)
    for one in np.flatnonzero(pairs.several[:-1] > 1).tolist():
        if pairs.one[one] == pairs.one[one + 1] and pairs.other[one] == pairs.other[one + 1]:
            cp.add_implication(literals[one + 1], literals[one])
    _mux(cp, phase, start)
    after = np.repeat(np.arange(len(start)), np.diff(phase.before_bounds))
    for first, second, lag in zip(
        phase.before.tolist(), after.tolist(), phase.lag.tolist(), strict=True
    ):
        cp.add(start[second] >= start[first] + lag)  # (E5)
    twins = twins_of(phase, pointers)
    for one, other in itertools.chain.from_iterable(map(itertools.pairwise, twins)):
        cp.add(start[one] <= start[other])
    cp.minimize(horizon)
    return Model(cp, start, horizon, tuple(literals), twins)


def _mux(cp: cp_model.CpModel, phase: Instance, start: tuple[cp_model.IntVar, ...]) -> None:
    """Source windows of each tile (E3) once more, of equal sets of transfers one tile's.

    Literals of pairs imply them; but only together do they fill a tile.
    """
    transfer = np.repeat(np.arange(len(start)), np.diff(phase.bounds))
    order = np.lexsort((transfer, phase.receiver))
    cuts = np.flatnonzero(np.diff(phase.receiver[order], prepend=-1, append=-1))
    seen = set()
    for receives in (order[a:b] for a, b in itertools.pairwise(cuts)):
        key = transfer[receives].tobytes()
        if len(receives) < 2 or key in seen:
            continue
        seen.add(key)
        cp.add_no_overlap(
            cp.new_fixed_size_interval_var(
                start[int(transfer[r])] + int(phase.window[r]), int(phase.window_length[r]), ""
            )
            for r in receives
        )


def twins_of(phase: Instance, pointers: BoolArray) -> tuple[tuple[int, ...], ...]:
    """Transfers that claim the same, with pointers that may be dropped alike, and no order (E5)."""
    bound = np.diff(phase.before_bounds) > 0
    bound[phase.before] = True
    alike: dict[bytes, list[int]] = {}
    for j in np.flatnonzero(~bound).tolist():
        receives = slice(phase.bounds[j], phase.bounds[j + 1])
        claims = phase.claims[phase.claim_start[j] : phase.claim_start[j + 1]]
        key = b"".join(
            column.tobytes() for column in (claims, pointers[receives], phase.receiver[receives])
        )
        alike.setdefault(key, []).append(j)
    return tuple(tuple(same) for same in alike.values() if len(same) > 1)


def hint_of(model: Model, phase: Instance, pairs: Pairs, start: IntArray) -> dict[int, int]:
    """Value of every variable under a valid schedule."""
    start = start.copy()
    for same in model.twins:
        start[list(same)] = np.sort(start[list(same)])
    hint = {variable.index: int(at) for variable, at in zip(model.start, start, strict=True)}
    hint[model.horizon.index] = horizon_of(start, phase.tail)
    above = start[pairs.other] - start[pairs.one] >= pairs.high
    for literal, value in zip(model.literals, above.tolist(), strict=True):
        hint[literal.index] = int(value)
    return hint

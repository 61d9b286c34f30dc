r"""Start the transfers of one exchange phase, and choose their widths, so that its horizon is least.

Source of every figure: ``ipu21.md`` 3, multicast form; times are events since the sync.

Sets         transfers :math:`j` of :math:`w_j` words from tile :math:`s_j` to receivers
             :math:`t \in R_j`; :math:`T` time to mux, row(t) the physical row of a tile, t' its
             partner (the other tile of its pair). In a repeat, one source address an iteration,
             all under one timing
Variables    :math:`P_j`, event of the first item leaving; :math:`z_j`, whether j is Paired64:
             given, or free where (E8) allows it
Follows      items :math:`n = w` of one word, or :math:`n = w / 2` of two where z;
             :math:`P0 = max(0, -min_{t \in R} T(s, t))`; send bus :math:`[P, P + n)`;
             s is done at :math:`max(P + n, P + 6 - P0)`
  Word32     source window of t :math:`[X, X + n)`, :math:`X = P + T(s, t) + 1`;
             write window of t :math:`[Y, Y + n)`, :math:`Y = X + 52 + 2\,row(t)`, one less
             for n = 52; t is done at :math:`X + n + 57 + 2\,row(t)`
  Paired64   source event
             :math:`X = P - P0 + T2(t) + max(0, 1 - min_{t \in R} T2(t))`,
             :math:`T2(t) = max(T(s, t), T(s, t'))`; format on :math:`F = X + 51 + 2\,row(t)`;
             source window :math:`[X, F + n)` where t is early, T(s, t) < T(s, t'), else
             :math:`[F, F + n)`; write window :math:`[Y, Y + n)`, :math:`Y = F + 2`; t is done at
             :math:`F + n + 7`; s' is reserved on [P, s done)
Controls     Word32: source X, neutral X + n (or the next source event in its place), pointer Y,
             which is dropped at will where the receive before ends at this one's address and both
             are Word32. Paired64: source X and neutral X + n where t is early; format on F,
             pointer Y, format off F + n. Source and neutral select the mux (XPIC), the others are
             PIC
(E1)         :math:`P_j \ge P0_j`
(E2)         sends of one tile do not overlap, nor a send and the reservation of its tile
(E3)         source windows of one tile do not overlap, nor do write windows, nor either with the
             reservation of the tile
(E4)         no control event of a tile falls on the first event of one of its own messages nor
             on the next one (P and P + 1); a pointer that may be dropped is dropped there
(E5)         a transfer that reads or writes a span of memory which an earlier-listed one writes,
             or writes a span which an earlier one reads, starts after that one's payload:
             :math:`P_j \ge max(P_i + n_i, max_t Y_{i,t} + n_i)`; a transfer reads at all its
             source addresses
(E6)         on one tile, :math:`[P, \text{s done})` of a send and :math:`[Y, \text{t done})` of
             a receive do not overlap when their spans share a memory element
(E7)         the row of every tile can be encoded: one XPIC and one PIC an event at most, and an
             instruction with both, of two words, starts at an even word; delays and sends may be
             split to pad where they last long enough
(E8)         z only where w is even, n is at least 64, all addresses are multiples of 8, receivers
             are complete pairs with one address a pair and without s and s', and no early
             receiver has :math:`n = 51 + 2\,row(t)` or :math:`n = 53 + 2\,row(t)`
Objective    minimise the horizon, the largest "done" over all tiles
Bounds       "head + words + tail" and "preemptive one-machine": each bus, mux, write port and
             shared element is one machine with heads and tails, preemptive schedule of Jackson
             (Carlier 1982, doi:10.1016/S0377-2217(82)80007-6), heads and tails along the chains
             of (E5); "chain of dependent transfers": the longest of those alone; "clique of
             shared elements": sends and receives of a tile that exclude each other by (E6)
             (``bounds_cliques.py``). With free widths, "buses of a pair of tiles" and "linear
             choice of widths" (``bounds_widths.py``, ``bounds_groups.py``). With given
             ones, "sequence with set-up times": the shortest order of one machine's jobs, each pair
             at the distance that all they share asks for (``sequence.py``); and "cp-sat", of (E1) to
             (E3), (E5), (E6) and lazily (E4), for components that are small enough
Methods      insertion at the earliest fit, forward and backward in time (``insertion.py``,
             ``search.py``, ``improve.py``); a late transfer in the place of others (``eject.py``);
             CP-SAT on components (``exact.py``); a few choices of widths (``widths.py``)

All rules but (E1), (E7) and (E8) are invariant under a shift of all starts and turn into rules of
the same kind when time runs backwards; insertion uses both. It knows (E2), (E3), (E4) and (E6) as
claims on rows of bits (``claims.py``), and walks rows of instructions for (E7) forward in time only
(``parity.py``): what backward insertion finds is inserted again. Pointers are never dropped there.
"""

from __future__ import annotations

from ipuopt.models.exchange.bounds import lower_bound
from ipuopt.models.exchange.check import check, horizon
from ipuopt.models.exchange.heuristics import (
    append_only,
    insert_in_order,
    schedule_heuristic,
    schedule_quickly,
)
from ipuopt.models.exchange.problem import MAX_WORDS, Problem, Solution
from ipuopt.models.exchange.solve import solve

__all__ = [
    "MAX_WORDS",
    "Problem",
    "Solution",
    "append_only",
    "check",
    "horizon",
    "insert_in_order",
    "lower_bound",
    "schedule_heuristic",
    "schedule_quickly",
    "solve",
]

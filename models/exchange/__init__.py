r"""Start the Word32 transfers of one exchange phase so that its horizon is least.

Source of every figure: ``ipu21.md`` 3, multicast form; times are events since the sync.

Sets         transfers :math:`j` of :math:`w_j` words from tile :math:`s_j` to receivers
             :math:`t \in R_j`; :math:`T` time to mux, row(t) the physical row of a tile
Variables    :math:`P_j`, event of the first word leaving
Follows      send bus :math:`[P, P + w)`;
             source window of t :math:`[X, X + w)`, :math:`X = P + T(s, t) + 1`;
             write window of t :math:`[Y, Y + w)`, :math:`Y = X + 52 + 2\,row(t)`, one less
             for w = 52;
             t is done at :math:`X + w + 57 + 2\,row(t)`, s at :math:`max(P + w, 6 + P - P0)`
(E1)         :math:`P_j \ge P0_j = max(0, -min_{t \in R_j} T(s_j, t))`
(E2)         sends of one tile do not overlap
(E3)         source windows of one tile do not overlap, nor do write windows
(E4)         no control event of a tile falls on the first event of one of its own messages nor
             on the next one (P and P + 1). Control events of a receive are its source event X,
             its neutral event X + w (or the next source event in its place) and its pointer
             event Y; the pointer is dropped where it would fall on P or P + 1 and the previous
             receive of the tile ends at this one's address. Two pointers, or two events of the
             mux, never coincide under (E3).
(E5)         a transfer that reads or writes a span of memory which an earlier-listed one writes,
             or writes a span which an earlier one reads, starts after that one's payload:
             :math:`P_j \ge max(P_i + w_i, max_t Y_{i,t} + w_i)`
(E6)         on one tile, :math:`[P, \text{s done})` of a send and :math:`[Y, \text{t done})` of
             a receive do not overlap when their spans share a memory element
Objective    minimise the horizon, the largest "done" over all tiles
Bounds       per bus and per element: the one-machine relaxation with heads and tails,
             preemptive schedule of Jackson (Carlier 1982, doi:10.1016/S0377-2217(82)80007-6),
             heads and tails along the chains of (E5)

All rules but (E1) are invariant under a shift of all starts, and turn into rules of the same
kind when time runs backwards; insertion uses both (``insertion.py``). Evenness of two-word
instructions in a row (``ipu21.md`` 3.3 rule 6) and 64-bit transfers are not part of this model.
"""

from __future__ import annotations

from ipuopt.models.exchange.bounds import lower_bound
from ipuopt.models.exchange.check import check, horizon
from ipuopt.models.exchange.heuristics import append_only, insert_in_order, schedule_heuristic
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
    "solve",
]

r"""Memory of one tile: give every buffer an address.

Sets         buffers :math:`b` of size :math:`s_b` and guard :math:`q_b` [bytes], alignment
             :math:`g_b`, window :math:`[w_b, x_b)`, live in steps :math:`[l_b, u_b)`, of the
             interleaved, the standard or the executable class; holes :math:`[v, z)` of addresses
Variables    :math:`a_b` address of :math:`b` [bytes]; :math:`B` boundary between the classes

::

    low_start         low_stop    high_start            boundary             high_stop
        |  standard  -> |             |  interleaved  -> |   standard   ->       |
        |<- low extent  |             |<- interleaved    |<- high extent         |

A buffer reserves the addresses :math:`R_b = [a_b, a_b + s_b + q_b)` while it lives.

(A1)         an interleaved buffer reserves addresses in ``[high_start, min(B, high_stop))``, an
             executable one in ``[low_start, low_stop)``, a standard one in either ``[low_start,
             low_stop)`` or ``[B, high_stop)``; ``B - high_start`` is a non-negative
             multiple of ``granule`` (``B`` itself may lie above ``high_stop``: the last element
             pair of a tile is not complete)
(A2)         :math:`a_b` is a multiple of :math:`g_b`
(A3)         buffers that live together do not overlap: if :math:`[l_i, u_i)` meets
             :math:`[l_j, u_j)`, then :math:`R_i` and :math:`R_j` are disjoint, unless the two are
             aliases
(A4)         the reserved addresses of a ``distinct`` pair touch no common memory element, whenever
             the two live
(A5)         :math:`w_b \le a_b` and :math:`a_b + s_b \le x_b`
(A6)         aliases have the same address
(A7)         no reserved address lies in a hole

Empty        A buffer without bytes or without a step of life is empty: it reserves nothing, and
             (A1), (A3), (A4), (A7) and the objectives do not see it. Its address obeys (A2), (A5)
             and (A6). The rule is that of :mod:`ipuopt.models.placement.space`.

Objectives, in this order of importance:

(O1)         least conflict words: the sum of ``conflict_words`` over the ``conflict`` pairs that
             touch a common memory element. A tile that sends from one buffer and receives into
             another in one phase cannot do both at a time within one element (ipu21.md 3.3 rule
             8), so these words may have to be exchanged one after the other;
             :func:`program_conflict_words` adds them up for any addresses of a program
(O2)         least footprint [bytes]: the sum of the three extents

             * top of the interleaved buffers - ``high_start``
             * top of the other buffers below ``low_stop`` - ``low_start``
             * top of the standard buffers above the boundary - ``B``

             (an extent without buffers is 0). What lies above the three tops is free at every
             step, in one piece each; bytes between the interleaved top and the boundary count as
             free, because interleaved buffers may still use them. So a smaller footprint leaves
             more room for program text and rows, and a footprint can be compared with live bytes

Bound        of (O2): the most bytes that live together in each class, rounded up to common
             alignment but for the last buffer of each extent, added up: the address ranges of
             the classes are disjoint at all times (:mod:`ipuopt.models.placement.bounds`);
             of (O1): 0, or what the exact model proves

Classes      With ``B`` decided the classes have neither bytes nor elements in common, and the
             least ``B`` is the best one. So each class is an address space of its own, which
             :mod:`ipuopt.models.placement.space` searches, and whose proofs hold for the tile
             (:mod:`ipuopt.models.placement.spaces`): whether the buffers fit, whether they fit
             without conflicts (conflict pairs taken as distinct), and how small each class gets.
             That path takes all of the above. The constructions, and the CP-SAT model of a whole
             tile that looks for the least words where they cannot be 0, take buffers without
             windows, aliases, instructions and holes, which is what a program has.

A report's ``objective`` is the footprint. It is OPTIMAL only if its conflict words are proven least
too; ``bound`` holds for placements with the least conflict words.
"""

from __future__ import annotations

from ipuopt.models.placement.again import place_again
from ipuopt.models.placement.bounds import explain
from ipuopt.models.placement.check import check, check_program, program_conflict_words
from ipuopt.models.placement.problem import Problem, Regions, Solution
from ipuopt.models.placement.program import Placed, solve_program
from ipuopt.models.placement.solve import solve

__all__ = [
    "Placed",
    "Problem",
    "Regions",
    "Solution",
    "check",
    "check_program",
    "explain",
    "place_again",
    "program_conflict_words",
    "solve",
    "solve_program",
]

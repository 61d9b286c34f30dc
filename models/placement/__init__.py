r"""Memory of one tile: give every buffer an address.

Sets         buffers :math:`b` of size :math:`s_b` [bytes], alignment :math:`g_b`, live in steps
             :math:`[l_b, u_b)`, of the interleaved or the standard class
Variables    :math:`a_b` address of :math:`b` [bytes]; :math:`B` boundary between the classes

::

    low_start         low_stop    high_start            boundary             high_stop
        |  standard  -> |             |  interleaved  -> |   standard   ->       |
        |<- low extent  |             |<- interleaved    |<- high extent         |

(A1)         an interleaved buffer lies in ``[high_start, min(B, high_stop))``, a standard one in
             ``[low_start, low_stop)`` or ``[B, high_stop)``; ``B - high_start`` is a non-negative
             multiple of ``granule`` (``B`` itself may lie above ``high_stop``: the last element
             pair of a tile is not complete)
(A2)         :math:`a_b` is a multiple of :math:`g_b`
(A3)         buffers that live together do not overlap: if :math:`[l_i, u_i)` meets
             :math:`[l_j, u_j)`, then :math:`[a_i, a_i + s_i)` and :math:`[a_j, a_j + s_j)` are
             disjoint
(A4)         the buffers of a ``distinct`` pair touch no common memory element, whenever they live

Objectives, in this order of importance:

(O1)         least conflict words: the sum of ``conflict_words`` over the ``conflict`` pairs that
             touch a common memory element. A tile that sends from one buffer and receives into
             another in one phase cannot do both at a time within one element (ipu21.md 3.3 rule
             8), so these words may have to be exchanged one after the other;
             :func:`program_conflict_words` adds them up for any addresses of a program
(O2)         least footprint [bytes]: the sum of the three extents

             * top of the interleaved buffers - ``high_start``
             * top of the standard buffers below ``low_stop`` - ``low_start``
             * top of the standard buffers above the boundary - ``B``

             (an extent without buffers is 0). What lies above the three tops is free at every
             step, in one piece each; bytes between the interleaved top and the boundary count as
             free, because interleaved buffers may still use them. So a smaller footprint leaves
             more room for program text and rows, and a footprint can be compared with live bytes

Bound        of (O2): the most bytes that live together in each class, rounded up to common
             alignment but for the last buffer of each extent, added up: the address ranges of
             the classes are disjoint at all times (:mod:`ipuopt.models.placement.bounds`);
             of (O1): 0, or what the exact model proves

A report's ``objective`` is the footprint. It is OPTIMAL only if its conflict words are proven least
too; ``bound`` holds for placements with the least conflict words.
"""

from __future__ import annotations

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
    "program_conflict_words",
    "solve",
    "solve_program",
]

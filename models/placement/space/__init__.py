r"""Memory of one address space: give every buffer an address that it keeps while it lives.

Sets         buffers :math:`b` of size :math:`s_b` and guard :math:`q_b` [bytes], alignment
             :math:`g_b`, window :math:`[w_b, x_b)`, live in the spans :math:`L_b` of steps, each
             half-open, with their part :math:`[f, e)` of the bytes in a span; holes
             :math:`[v, z)` of addresses; memory elements
Variables    :math:`a_b` address of :math:`b`; :math:`h` height [bytes]

A buffer reserves the addresses :math:`R_b = [a_b + f, a_b + e + q_b)` in a span, where
:math:`f = 0` and :math:`e = s_b` unless only a part of its bytes lives there.

(S1)         buffers that share a step reserve disjoint addresses, unless they are aliases
(S2)         :math:`a_b` is a multiple of :math:`g_b`
(S3)         :math:`w_b \le a_b` and :math:`a_b + s_b \le x_b`
(S4)         aliases have the same address
(S5)         the addresses :math:`[a_b, a_b + s_b + q_b)` of an ``apart`` pair touch no common
             memory element, whenever the two live
(S6)         no reserved address lies in a hole
(S7)         :math:`a_b + s_b + q_b \le h`, whatever part lives, and :math:`h` is at most the capacity if there is one

Objective    least height :math:`h`
Bounds       load: bytes that live together; bytes of a set of buffers that live together above the
             lowest address that any of them may have (:mod:`~ipuopt.models.placement.space.bounds`);
             clique: bytes of buffers of which no two may meet, by (S1) or (S5), whether or not they
             live together (:mod:`~ipuopt.models.placement.space.cliques`); energy: bytes of a range
             that buffers must occupy wherever their windows let them lie
             (:mod:`~ipuopt.models.placement.space.energy`); time window: buffers that
             live in a few neighbouring sections, when a search has exhausted all their placements
             (:mod:`~ipuopt.models.placement.space.proof`)

Empty        A buffer that lives with no byte in no step is empty. It reserves nothing: (S1),
             (S5), (S6) and (S7) do not see it. Its address still obeys (S2), (S3) and (S4), and is
             the lowest that does, even if that lies inside another buffer.

Addresses count from 0; what lies before a region, between regions or behind the last is a hole.
A tile of several classes with a free boundary between them is made of such address spaces
(:mod:`ipuopt.models.placement.spaces`).

Parts        Of two buffers that share steps one usually lies above the other. Parts may fit into
             each other beyond that, as a peg into a ring; the search, which knows above and below
             only, then leaves the problem to the constructions and CP-SAT.

The search is the canonical depth-first search of Moffitt, "MiniMalloc" (ASPLOS 2023), with other
branches and inferences: :mod:`~ipuopt.models.placement.space.search`.
"""

from __future__ import annotations

from ipuopt.models.placement.space.check import check
from ipuopt.models.placement.space.problem import Problem, Solution
from ipuopt.models.placement.space.solve import Answer, place, solve

__all__ = ["Answer", "Problem", "Solution", "check", "place", "solve"]

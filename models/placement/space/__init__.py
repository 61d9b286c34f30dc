r"""Memory of one address space: give every buffer an address that it keeps while it lives.

Sets         buffers :math:`b` of size :math:`s_b` and guard :math:`q_b` [bytes], alignment
             :math:`g_b`, window :math:`[w_b, x_b)`, live in the spans :math:`L_b` of steps, each
             half-open; holes :math:`[v, z)` of addresses
Variables    :math:`a_b` address of :math:`b`; :math:`h` height [bytes]

A buffer reserves the addresses :math:`R_b = [a_b, a_b + s_b + q_b)` while it lives.

(S1)         buffers that share a step reserve disjoint addresses, unless they are aliases
(S2)         :math:`a_b` is a multiple of :math:`g_b`
(S3)         :math:`w_b \le a_b` and :math:`a_b + s_b \le x_b`
(S4)         aliases have the same address
(S5)         the reserved addresses of an ``apart`` pair touch no common memory element, whenever
             the two live
(S6)         no reserved address lies in a hole
(S7)         :math:`a_b + s_b + q_b \le h`, and :math:`h` is at most the capacity if there is one

Objective    least height :math:`h`
Bounds       load: bytes that live together; bytes of a set of buffers that live together above the
             lowest address that any of them may have (:mod:`~ipuopt.models.placement.space.bounds`);
             clique: bytes of buffers of which no two may meet, by (S1) or (S5), whether or not they
             live together (:mod:`~ipuopt.models.placement.space.cliques`); time window: buffers that
             live in a few neighbouring sections, when a search has exhausted all their placements
             (:mod:`~ipuopt.models.placement.space.proof`)

Empty        A buffer without bytes or without a step of life is empty. It reserves nothing: (S1),
             (S5), (S6) and (S7) do not see it. Its address still obeys (S2), (S3) and (S4), and is
             the lowest that does, even if that lies inside another buffer.

Addresses count from 0; what lies before a region, between regions or behind the last is a hole.
Classes of memory are windows. A tile of several classes with a free boundary between them is
another problem (:mod:`ipuopt.models.placement`).

The search is the canonical depth-first search of Moffitt, "MiniMalloc" (ASPLOS 2023), with other
branches and inferences: :mod:`~ipuopt.models.placement.space.search`.
"""

from __future__ import annotations

from ipuopt.models.placement.space.check import check
from ipuopt.models.placement.space.problem import Problem, Solution
from ipuopt.models.placement.space.solve import Answer, place, solve

__all__ = ["Answer", "Problem", "Solution", "check", "place", "solve"]

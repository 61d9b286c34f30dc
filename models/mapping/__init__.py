r"""Mapping: choose a kernel, grid and layouts for every operation of a program.

Sets         nodes :math:`i` with labels :math:`x`, edges :math:`e = (i, j)` whose ends group the
             labels (labels with the same layout form one group), steps :math:`t`
Data         cycles :math:`c_i(x)`; standard and interleaved bytes :math:`s_i(x, t)`,
             :math:`v_i(x, t)` of the fullest tile, and :math:`a_i(x, t)`, those of its standard
             buffers that are larger than ``low`` each; cycles :math:`c_e(g, h)`, staging bytes
             :math:`s_e(g, h)` and large ones :math:`a_e(g, h)` at step :math:`t_e` of a pair of
             groups; the capacity of a tile
Variables    :math:`x_i` label of node :math:`i`; they decide the groups
             :math:`g_e(x_i), h_e(x_j)` of every edge, and the boundary
             :math:`B = \lceil \max_t \sum_i v_i(x_i, t) \rceil_{granule}`

(M1)         every node has exactly one of its labels
(M2)         the pair of groups of every edge is allowed: a conversion is between the two layouts,
             and of a value that several operations read, what a reader reads is kept for it, and
             nothing is kept for a reader that reads something else
(M3)         :math:`\sum_i v_i(x_i, t) \le` ``interleaved`` at every step
(M4)         :math:`\sum_i s_i(x_i, t) + \sum_{e: t_e = t} s_e(g_e, h_e) + B \le` ``total`` at
             every step: the boundary between the classes is fixed for the whole program
             (cost-model.md 4.4)
(M5)         :math:`\sum_i a_i(x_i, t) + \sum_{e: t_e = t} a_e(g_e, h_e) + B \le` ``high`` at
             every step: a standard buffer lies in one piece, either below the interleaved region,
             where ``low`` bytes are, or above the boundary (lowering.md 5.3)

Two layouts  a label of an operation that reads a value with other readers, or with one that is an
             output besides, also says which buffer it reads: the value, what another reader read
             before it, or a layout in which the host loads the value for it; and up to which
             reader it keeps what it reads itself. An edge leads from each such buffer to the
             reader; bytes are those of the label that keeps a buffer, in the steps in which it
             does (:mod:`ipuopt.models.mapping.sharing`). So :math:`s_i`, :math:`v_i` and (M2) hold
             all of it, and (M1)-(M5) are the same for every workload

Objective    minimise :math:`\sum_i c_i(x_i) + \sum_e c_e(g_e, h_e)` [cycles]

Bound        without memory, costs moved along the edges (exact where the edges form a forest);
             with memory, the least over all boundaries of the optimum without staging, by the
             assignment model (:mod:`ipuopt.models.mapping.assigned`), and of a Lagrangian bound
             (:mod:`ipuopt.models.mapping.bounds`); then the solver's
Exact        the local polytope: label one-hots, pairs of groups whose sums agree with the labels
             on both sides, the boundary as a whole number of granules; in HiGHS
             (:mod:`~ipuopt.models.mapping.exact`), CP-SAT (:mod:`~ipuopt.models.mapping.exact_cpsat`)
             and, to be read, Pyomo (:mod:`~ipuopt.models.mapping.exact_pyomo`)
Heuristic    beam search of width 64 (:mod:`ipuopt.models.mapping.heuristics`)
"""

from ipuopt.models.mapping.check import check, evaluate
from ipuopt.models.mapping.explain import explain
from ipuopt.models.mapping.heuristics import beam_search
from ipuopt.models.mapping.problem import Capacity, Edge, Node, Problem, Solution
from ipuopt.models.mapping.solve import solve

__all__ = [
    "Capacity",
    "Edge",
    "Node",
    "Problem",
    "Solution",
    "beam_search",
    "check",
    "evaluate",
    "explain",
    "solve",
]

r"""Layout assignment: one strategy a node, tables of costs between nodes, memory over time.

The problem of the ASPLOS 2025 contest on intra-operator parallelism; the mapping problem is of the
same kind, with fewer nodes and more rules of memory.

Sets         nodes :math:`i` with strategies :math:`x`, edges :math:`e = (i, j)`, times :math:`t`
Data         costs :math:`c_i(x)` and :math:`c_e(x, y)`, usage :math:`u_i(x)` at the times
             :math:`l_i \le t < h_i`, limit :math:`L`
Variables    :math:`x_i` strategy of node :math:`i`

(N1)         every node has exactly one of its strategies
(N2)         :math:`\sum_{i: l_i \le t < h_i} u_i(x_i) \le L` at every time :math:`t`

Objective    minimise :math:`\sum_i c_i(x_i) + \sum_{e = (i, j)} c_e(x_i, x_j)`; costs of
             :math:`10^{18}` mean a choice that no useful solution makes

Presolve     exact: nodes tied by bijections are one, common costs of rows and columns move into the
             nodes, labels without partner, without room or dominated go, rows of memory that follow
             from others go, nodes without memory and with at most two neighbours are minimised out
             (:mod:`ipuopt.models.assignment.presolve`)
Bound        message passing with prices on memory, certified in integers
             (:mod:`~ipuopt.models.assignment.multipliers`,
             :mod:`~ipuopt.models.assignment.bounds`); without memory the optimum itself where
             the graph is thin (:mod:`~ipuopt.models.assignment.variable_elimination`)
Exact        for what is small, a tree search whose bounds are certified and which prunes by them
             (:mod:`~ipuopt.models.assignment.branching`,
             :mod:`~ipuopt.models.assignment.pruning`); then HiGHS on the local polytope, for
             solutions only (:mod:`~ipuopt.models.assignment.exact`)
Heuristic    labels by messages, then forests of nodes chosen anew, and windows of nodes with proof
             (:mod:`~ipuopt.models.assignment.heuristics`,
             :mod:`~ipuopt.models.assignment.windows`)

Other models of this kind may use, besides what is exported here, a
:class:`~ipuopt.models.assignment.graph.Graph` of their own with
:func:`~ipuopt.models.assignment.presolve.presolve`,
:class:`~ipuopt.models.assignment.multipliers.Ascent` and
:func:`~ipuopt.models.assignment.bounds.certificate`: the graph they are given must have one edge at
most between two nodes, ``tail < head``, and be arc consistent, as the presolve leaves it.
"""

from ipuopt.models.assignment.check import check, evaluate
from ipuopt.models.assignment.problem import FORBIDDEN, Problem, Solution
from ipuopt.models.assignment.solve import solve

__all__ = ["FORBIDDEN", "Problem", "Solution", "check", "evaluate", "solve"]

"""The cost and memory model of the public compiler for this chip, reproduced exactly.

It prices plans as that compiler's planner does, so that its printed plans and ours can be compared
in its own currency. It is not our objective: it charges no overhead of a transfer, shares a bus
between two tiles that in fact send on their own, and takes the largest shard for every tile.

Formulas   cost-model.md 3 (cycles), 3.6 rules A and B (rearrangements), 3.9 (exchange rows), 4 (memory)
Input      a :class:`ipuopt.plan.Plan`; :func:`read_plan` makes one from a printed plan
Output     :class:`PeerReport`: cycles and exchange cycles by step, row bytes, peaks, feasibility
Candidates :func:`retained`: what that compiler's search keeps of a product (cost-model.md 2.2);
           :mod:`ipuopt.models.mapping.peer.stationary`: those without a reduction (2.3, 2.4)
"""

from ipuopt.models.mapping.peer.adopt import adopt
from ipuopt.models.mapping.peer.grids import Shape, tile_counts
from ipuopt.models.mapping.peer.price import PeerReport, PeerStep, price_plan
from ipuopt.models.mapping.peer.read import read_plan
from ipuopt.models.mapping.peer.rearrange import Rule
from ipuopt.models.mapping.peer.retained import Candidate, retained

__all__ = [
    "Candidate",
    "PeerReport",
    "PeerStep",
    "Rule",
    "Shape",
    "adopt",
    "price_plan",
    "read_plan",
    "retained",
    "tile_counts",
]

"""Check of a lowered program against its plan, written from the rules and not from the lowering.

(L1)  Tables are well formed: steps ascend and are of the table's kind; shards lie on the tile that
      uses them; offsets are whole words and stay inside the shard; transfers have 1..4148 words
      and distinct receivers, none on the sender's tile; kinds, blocks, extents and sizes lie in
      their ranges.
(L2)  What phases and copies fill is filled once: no byte twice, and no byte missing that a kernel
      reads.
(L3)  Kernel runs fit their shards; the runs of a product multiply matching rectangles, initialise
      first, and cover the inner axis once; every root sums each inner part once.
(L4)  Cycles of runs and copies are those of the cost model.
(L5)  Shards live from before their first use to after their last, inputs from the start, outputs to
      the end; nothing is read before it is written. What a repeat uses lives from its entry to its
      exit.
(L6)  Bytes that move are the same elements of the value on both sides.
(L7)  Value shards are those of the plan's layouts; sizes, alignments and elements apart suit the
      kernels.

Repeats are held against (L2) to (L7) with their steps as often as they are executed
(:mod:`ipuopt.unrolled`), which is what numbers in messages count.

Sources: lowering.md 1-5, cost-model.md 1 and 3.
"""

from __future__ import annotations

from ipuopt.codegen.check.coverage import check_coverage
from ipuopt.codegen.check.cycles import check_cycles
from ipuopt.codegen.check.elements import check_elements
from ipuopt.codegen.check.forms import check_forms
from ipuopt.codegen.check.lives import check_lives, check_uses
from ipuopt.codegen.check.reading import Violations, read
from ipuopt.codegen.check.runs import check_runs
from ipuopt.codegen.check.values import check_values
from ipuopt.plan import Plan
from ipuopt.program import Program
from ipuopt.unrolled import unrolled

__all__ = ["check"]


def check(plan: Plan, program: Program) -> Violations:
    """Every kind of violation as ``(label, message)``; empty for a correct program.

    One message stands for all violations of its kind and names the first. Where tables are not
    well formed (L1) the other rules are not looked at: they would follow wrong indices.
    """
    reading = read(plan, program)
    malformed = check_forms(reading)
    if malformed:
        return malformed
    found: Violations = ()
    if program.repeats:
        found = check_uses(reading)
        reading = read(plan, unrolled(program)[0])
    rules = (check_coverage, check_runs, check_cycles, check_lives, check_elements, check_values)
    return found + tuple(violation for rule in rules for violation in rule(reading))

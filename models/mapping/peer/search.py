"""The best plan of the public compiler's candidates under its own prices, with proof.

Where that compiler keeps 64 partial programs, all are searched here, best first: a partial program
is ranked by its cycles plus the least that the rest costs (:mod:`ipuopt.models.mapping.peer.least`),
so the first complete one is the best (Hart, Nilsson, Raphael 1968, doi:10.1109/TSSC.1968.300136).
Memory only grows with a program, so what breaks its rules (cost-model.md 4.4) is not continued.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator, Sequence
from dataclasses import astuple, dataclass

from ipuopt.errors import CheckError, LimitError
from ipuopt.layout import Layout
from ipuopt.limits import Limits
from ipuopt.models.mapping.peer.chain import Choice, Link
from ipuopt.models.mapping.peer.least import Rest
from ipuopt.models.mapping.peer.matmul import Product
from ipuopt.models.mapping.peer.prefix import Prefix, price_conversion
from ipuopt.models.mapping.peer.price import PeerStep, price_plan
from ipuopt.plan import MatMulStep, Plan, PlannedValue


@dataclass(frozen=True, slots=True, order=True)
class _Entry:
    """A prefix to continue with its choice number ``rank``; complete ones have rank 0.

    Of entries with equal bounds the longest prefix comes first, then the earliest entry.
    """

    bound: int
    remaining: int
    number: int
    prefix: Prefix
    rank: int


class ChainSearch:
    """Plans of a chain in order of their cycles.

    Attributes
    ----------
    bound
        No plan that is still to come costs less.
    """

    def __init__(self, links: Sequence[Link], outputs: Collection[str], limits: Limits) -> None:
        """Prepare the search of ``links``; LimitError if not even its first bound is in time."""
        self.bound = 0
        self._links, self._outputs, self._limits = links, outputs, limits
        self._rest = Rest(links, limits)
        self._conversions: dict[tuple[int, Layout, Layout], PeerStep] = {}
        self._heap: list[_Entry] = []
        self._yielded: set[tuple[tuple[PlannedValue, ...], str]] = set()
        self._entries = 0
        self._push(Prefix(links[0].tiles), 0)

    @property
    def exhausted(self) -> bool:
        """Whether no plan is left."""
        return not self._heap

    def plans(self) -> Iterator[Plan]:
        """Plans that fit the memory, cheapest first, until none is left or the time is over."""
        while self._heap and not self._limits.expired():
            entry = heapq.heappop(self._heap)
            prefix, self.bound = entry.prefix, entry.bound
            if not entry.remaining:
                plan = _checked(prefix)
                known = prefix.values, repr(prefix.steps)
                if known not in self._yielded:  # with slices and without: one program
                    self._yielded.add(known)
                    yield plan
                continue
            try:
                self._continue(prefix, entry.rank)
            except LimitError:
                heapq.heappush(self._heap, entry)
                return

    def _continue(self, prefix: Prefix, rank: int) -> None:
        """Remember ``prefix`` with its choice number ``rank``, and its next choice for later."""
        ranking = self._rest.ranking(prefix.depth, prefix.layout)
        for grown in self._grown(prefix, ranking.choices[rank]):
            self._push(grown, 0)
        self._push(prefix, rank + 1)

    def _push(self, prefix: Prefix, rank: int) -> None:
        """Remember to continue ``prefix`` with its choice ``rank``, if there is one."""
        bound, remaining = prefix.cycles, len(self._links) - prefix.depth
        if remaining:
            least = self._rest.ranking(prefix.depth, prefix.layout).least
            if rank >= len(least):
                return
            bound += int(least[rank])
        self._entries += 1
        heapq.heappush(self._heap, _Entry(bound, remaining, self._entries, prefix, rank))

    def _grown(self, prefix: Prefix, choice: Choice) -> list[Prefix]:
        """``prefix`` and one more operation, in the ways that fit and differ in memory.

        A product may fetch a converted activation in slices. What it reads as it is it has whole:
        slices would only add to that.
        """
        link, source, target = self._links[prefix.depth], prefix.layout, choice.reads
        conversion = None
        if source is not None and source != target:
            key = (prefix.depth, source, target)
            if key not in self._conversions:
                self._conversions[key] = price_conversion(link, source, target)
            conversion = self._conversions[key]
        is_output = link.operation.name in self._outputs
        grown = [
            prefix.then(link, choice, conversion, is_output=is_output, in_slices=in_slices)
            for in_slices in ((False, True) if conversion and link.weight else (False,))
        ]
        reports = [candidate.report() for candidate in grown]
        fitting = [not report.violations for report in reports]
        if all(fitting) and len(grown) == 2:
            whole, sliced = (astuple(report.peaks) for report in reports)
            pairs = list(zip(whole, sliced, strict=True))
            fitting[1] = any(b < a for a, b in pairs)
            fitting[0] = any(a < b for a, b in pairs) or not fitting[1]
        return [candidate for candidate, fits in zip(grown, fitting, strict=True) if fits]


def _checked(prefix: Prefix) -> Plan:
    """The plan, priced once more as a whole."""
    plan = prefix.plan()
    report = price_plan(plan, fetched=prefix.fetched)
    if report.cycles != prefix.cycles or not report.feasible:
        found = f"{report.cycles} cycles ({'; '.join(report.violations)}), not {prefix.cycles}"
        raise CheckError("peer plan", (("price", found),), {"plan": plan.to_json()})
    return plan


def has_whole_panels(plan: Plan) -> bool:
    """Whether every part of a product finds its weights in one piece, as our lowering needs them.

    Weights that are cut along the inner axis where the product is not are gathered block by block
    in that compiler (lowering.md 2.5): such plans are priced and compared, but cannot be lowered.
    """
    products = (step for step in plan.steps if isinstance(step, MatMulStep))
    return all(_inner_parts(plan, step) == step.inner for step in products)


def _inner_parts(plan: Plan, step: MatMulStep) -> int:
    product = Product.of(plan, step)
    tiling = product.right.layout.tiling(product.row_axis)
    return 1 if tiling is None else tiling.partitions

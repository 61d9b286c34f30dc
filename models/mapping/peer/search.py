"""The best plan of the public compiler's candidates under its own prices, with proof.

Where that compiler keeps 64 partial programs, all are searched here, best first: a partial program
is ranked by its cycles plus the least that the rest costs (:mod:`ipuopt.models.mapping.peer.least`),
so the first complete one is the best (Hart, Nilsson, Raphael 1968, doi:10.1109/TSSC.1968.300136).
Memory only grows with a program, so what breaks its rules (cost-model.md 4.4) is not continued.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from ipuopt.errors import CheckError
from ipuopt.layout import Layout
from ipuopt.limits import Limits
from ipuopt.models.mapping.peer.chain import Choice, Link
from ipuopt.models.mapping.peer.least import Rest
from ipuopt.models.mapping.peer.prefix import Prefix, price_conversion
from ipuopt.models.mapping.peer.price import PeerStep, price_plan
from ipuopt.plan import Plan


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

    def __init__(self, links: Sequence[Link], outputs: Collection[str]) -> None:
        self.bound = 0
        self._links, self._outputs = links, outputs
        self._rest = Rest(links)
        self._conversions: dict[tuple[int, Layout, Layout], PeerStep] = {}
        self._heap: list[_Entry] = []
        self._entries = 0
        self._push(Prefix(links[0].tiles), 0)

    @property
    def exhausted(self) -> bool:
        """Whether no plan is left."""
        return not self._heap

    def plans(self, limits: Limits) -> Iterator[Plan]:
        """Plans that fit the memory, cheapest first, until none is left or the time is over."""
        while self._heap and not limits.expired():
            entry = heapq.heappop(self._heap)
            prefix, self.bound = entry.prefix, entry.bound
            if not entry.remaining:
                yield _checked(prefix)
                continue
            ranking = self._rest.ranking(prefix.depth, prefix.layout)
            self._push(prefix, entry.rank + 1)
            grown = self._grown(prefix, ranking.choices[entry.rank])
            if not grown.report().violations:
                self._push(grown, 0)

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

    def _grown(self, prefix: Prefix, choice: Choice) -> Prefix:
        """``prefix`` and one more operation."""
        link, source, target = self._links[prefix.depth], prefix.layout, choice.reads
        conversion = None
        if source is not None and source != target:
            key = (prefix.depth, source, target)
            if key not in self._conversions:
                self._conversions[key] = price_conversion(link, source, target)
            conversion = self._conversions[key]
        is_output = link.operation.name in self._outputs
        return prefix.then(link, choice, conversion, is_output=is_output)


def _checked(prefix: Prefix) -> Plan:
    """The plan, priced once more as a whole."""
    plan = prefix.plan()
    report = price_plan(plan)
    if report.cycles != prefix.cycles or not report.feasible:
        found = f"{report.cycles} cycles ({'; '.join(report.violations)}), not {prefix.cycles}"
        raise CheckError("peer plan", (("price", found),), {"plan": plan.to_json()})
    return plan

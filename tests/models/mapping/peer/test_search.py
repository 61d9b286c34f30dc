"""Best plans of the public compiler's candidates: all plans listed, and the logged workload."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import ipuopt
from ipuopt.errors import InputError, LimitError
from ipuopt.layout import LEFT, ROW_MAJOR, MemoryClass
from ipuopt.limits import Limits
from ipuopt.models.mapping.check_plan import check_plan
from ipuopt.models.mapping.peer import price_plan, read_plan
from ipuopt.models.mapping.peer.chain import Choice, Link, read_chain
from ipuopt.models.mapping.peer.formats import pointwise_formats
from ipuopt.models.mapping.peer.prefix import Prefix, price_conversion
from ipuopt.models.mapping.peer.search import ChainSearch, has_whole_panels
from ipuopt.plan import MatMulStep

SIGLIP_MLP = Path(__file__).parents[4] / "examples" / "siglip-mlp.yaml"
MLP = {
    "h": {"op": "MatMul", "inputs": ["x", "w1"]},
    "a": {"op": "Gelu", "inputs": ["h"]},
    "y": {"op": "MatMul", "inputs": ["a", "w2"]},
}


def _workload(
    tiles: int,
    extents: tuple[int, int, int, int],
    operations: dict[str, Any] | None = None,
) -> ipuopt.Workload:
    m, k, n, p = extents
    operations = operations or MLP
    read = {name for operation in operations.values() for name in operation["inputs"]}
    weights = {"w1": {"shape": [k, n]}, "w2": {"shape": [n, p]}}
    return ipuopt.from_dict(
        {
            "ipuopt": 1,
            "name": "chain",
            "target": {"chip": "ipu21", "tiles": tiles},
            "inputs": {"x": {"shape": [m, k]}},
            "parameters": {name: shape for name, shape in weights.items() if name in read},
            "operations": operations,
            "outputs": [name for name in operations if name not in read],
        }
    )


def _thinned(links: tuple[Link, ...], every: int) -> tuple[Link, ...]:
    """Some choices of each product, and few tile counts for what lies between."""
    return tuple(
        replace(link, choices=link.choices[::every], counts=link.counts[:2]) for link in links
    )


def _all_plans(links: tuple[Link, ...], prefix: Prefix) -> Iterator[list[Prefix]]:
    """Every sequence of choices, whether or not it fits, with slices and without."""
    if prefix.depth == len(links):
        yield [prefix]
        return
    link, source = links[prefix.depth], prefix.layout
    for choice in link.offered(source):
        conversion = None
        if source is not None and source != choice.reads:
            conversion = price_conversion(link, source, choice.reads)
        is_output = prefix.depth == len(links) - 1
        sliced = (False, True) if conversion and link.weight else (False,)
        ways = [
            _all_plans(
                links,
                prefix.then(link, choice, conversion, is_output=is_output, in_slices=in_slices),
            )
            for in_slices in sliced
        ]
        for group in zip(*ways, strict=True):
            yield [complete for way in group for complete in way]


def _spreads(choice: Choice) -> bool:
    """Whether the result of a product lies on more tiles than one a row and column part."""
    assert isinstance(choice.step, MatMulStep)
    return choice.makes.tiles > choice.step.rows * choice.step.columns


@pytest.mark.parametrize(
    ("tiles", "extents", "every"),
    [(8, (40, 48, 80, 32), 11), (16, (128, 256, 512, 256), 37), (24, (96, 320, 416, 256), 41)],
)
def test_plans_come_in_order_and_all_of_them(
    tiles: int, extents: tuple[int, int, int, int], every: int
) -> None:
    """Brute force: the costs of the plans that keep the rules in one of their ways, sorted."""
    workload = _workload(tiles, extents)
    links = _thinned(read_chain(workload, Limits()), every)
    ways = list(_all_plans(links, Prefix(tiles)))
    feasible = sorted(
        way[0].cycles
        for way in ways
        if any(price_plan(p.plan(), fetched=p.fetched).feasible for p in way)
    )
    assert feasible and (len(feasible) < len(ways) or tiles == 8)
    search = ChainSearch(links, workload.outputs, Limits())
    assert search.bound <= feasible[0]
    costs = []
    for plan in search.plans():
        costs.append(plan.cost)
        assert search.bound == plan.cost
        assert (check_plan(workload, plan) == ()) == has_whole_panels(plan)
    assert costs == feasible and search.exhausted


def test_a_chain_of_products_alone() -> None:
    """Results that a product reads at once do not lie on the tiles of all inner parts."""
    operations = {"h": MLP["h"], "y": {"op": "MatMul", "inputs": ["h", "w2"]}}
    workload = _workload(16, (64, 64, 96, 64), operations)
    links = read_chain(workload, Limits())
    reduced = [
        [c for c in link.choices if isinstance(c.step, MatMulStep) and c.step.inner > 1]
        for link in links
    ]
    assert [{_spreads(choice) for choice in choices} for choices in reduced] == [{False}, {True}]
    best = next(ChainSearch(links, workload.outputs, Limits()).plans())
    assert check_plan(workload, best) == ()


@pytest.mark.parametrize(
    ("operations", "found"),
    [
        ({"a": {"op": "Gelu", "inputs": ["x"]}}, "Gelu a"),
        ({"h": MLP["h"], "y": {"op": "Add", "inputs": ["h", "h"]}}, "Add y"),
        ({"h": MLP["h"], "g": MLP["h"]}, "operands of . that others read"),
        (
            {"h": MLP["h"], "y": {"op": "MatMul", "inputs": ["w2", "w2"]}},
            "y that reads w2, w2 after h",
        ),
    ],
)
def test_what_is_no_chain_is_refused(operations: dict[str, Any], found: str) -> None:
    workload = _workload(8, (48, 48, 48, 48), operations)
    with pytest.raises(InputError, match=f"--space peer: found {found}, expected a chain"):
        read_chain(workload, Limits())


def test_no_time_for_candidates() -> None:
    with pytest.raises(LimitError, match="chain: h: the limit came before"):
        read_chain(_workload(8, (40, 48, 80, 32)), Limits(deadline=0.0))


def test_formats_of_the_logged_gelu(shared: Path) -> None:
    """The layout it was given, and the linear one that the compiler chose (cost-model.md 1.8)."""
    plan = read_plan(shared / "data" / "seeds" / "plan_siglip_mlp.yaml")
    made, chosen = plan.values[3].layout, plan.values[4].layout
    formats = pointwise_formats(made, 729, 4304, [1472, 1458, 1152, 1024, 512])
    assert formats[0] == made and chosen in formats
    # 1458 tiles cut each row once; 1152 and 1024 are fewer tiles that cut rows more often.
    assert [layout.tiles for layout in formats[1:]] == [1472, 1472, 1458, 1458, 512, 512]
    assert {layout.order for layout in formats} == {LEFT, ROW_MAJOR}
    row_major = [layout for layout in formats if layout.order == ROW_MAJOR]
    assert all(layout.memory_class is MemoryClass.STANDARD for layout in row_major)


def test_formats_need_whole_panels_and_accesses() -> None:
    workload = _workload(8, (40, 48, 80, 32))
    made = read_chain(workload, Limits())[0].choices[0].makes
    assert {layout.order for layout in pointwise_formats(made, 40, 72, [8])[1:]} == {ROW_MAJOR}
    assert pointwise_formats(made, 3, 3, [2]) == [made]


@pytest.mark.slow
def test_seed(shared: Path) -> None:
    """Its compiler's 64 partial programs end at 234 069 cycles; its candidates hold a better plan."""
    workload = ipuopt.load(SIGLIP_MLP)
    links = read_chain(workload, Limits())
    logged = read_plan(shared / "data" / "seeds" / "plan_siglip_mlp.yaml")
    for link, values in ((links[0], (0, 1, 3)), (links[2], (6, 2, 7))):
        made = tuple(logged.values[i].layout for i in values)
        assert made in {(c.reads, c.loads, c.makes) for c in link.choices}
    search = ChainSearch(links, workload.outputs, Limits())
    best = next(search.plans())
    report = price_plan(best)
    assert search.bound == report.cycles <= price_plan(logged).cycles == 234_069
    assert [step.cycles for step in report.steps] == [89_270, 22_091, 27_936, 92_646]

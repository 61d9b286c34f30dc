"""Price a whole plan as the public compiler does (cost-model.md 3.10, 4.3, 4.4)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from ipuopt.models.mapping.peer.matmul import Product, price_matmul, shard_bytes
from ipuopt.models.mapping.peer.memory import (
    INTERLEAVED_BYTES,
    TOTAL_BYTES,
    Demand,
    Peaks,
    live,
    of_class,
    program_peaks,
    violations,
    with_slices,
)
from ipuopt.models.mapping.peer.rearrange import IMPOSSIBLE, Rule, price_rearrangement
from ipuopt.plan import ConversionStep, MatMulStep, Plan, PlanStep, PointwiseStep
from ipuopt.rectangles import max_shard_elements
from ipuopt.target.kernels import add_cycles, cast_cycles, gelu_cycles


@dataclass(frozen=True, slots=True)
class PeerStep:
    """One step as the public compiler sees it.

    Attributes
    ----------
    terms
        Cycles by name.
    exchange_cycles
        Part of the cycles that is exchange.
    row_bytes
        Bytes of the step's exchange rows on a tile.
    live, temporary
        Memory of operands and result, and what the step needs besides.
    """

    name: str
    terms: Mapping[str, int]
    exchange_cycles: int
    row_bytes: int
    live: Demand
    temporary: Demand

    @property
    def cycles(self) -> int:
        """All terms."""
        return sum(self.terms.values())

    @property
    def peak(self) -> Demand:
        """Live and temporary memory."""
        return self.live + self.temporary


@dataclass(frozen=True, slots=True)
class PeerReport:
    """A plan as the public compiler sees it.

    Attributes
    ----------
    rule
        How rearrangements are counted.
    steps
        One entry a plan step.
    peaks
        Peak memory of the program.
    violations
        Why the compiler would refuse the plan; empty when it would not.
    """

    rule: Rule
    steps: tuple[PeerStep, ...]
    peaks: Peaks
    violations: tuple[str, ...]

    @property
    def cycles(self) -> int:
        """Cycles of all steps."""
        return sum(step.cycles for step in self.steps)

    @property
    def exchange_cycles(self) -> int:
        """Exchange cycles of all steps."""
        return sum(step.exchange_cycles for step in self.steps)

    @property
    def row_bytes(self) -> int:
        """Bytes of all exchange rows on a tile."""
        return sum(step.row_bytes for step in self.steps)

    @property
    def feasible(self) -> bool:
        """Whether the compiler would accept the plan."""
        return not self.violations


def price_plan(plan: Plan, rule: Rule | str = Rule.A, fetched: Collection[int] = ()) -> PeerReport:
    """Price every step and the memory of the whole program.

    Tile offsets are ignored, as the public compiler does until it builds the program.

    Parameters
    ----------
    plan
        A plan of either origin; its own terms are not looked at.
    rule
        ``"A"`` (the logged plan was chosen under it) or ``"B"`` (last public revision).
    fetched
        Results of conversions that a product fetches in slices; all others are complete. This
        changes memory, not cycles, and the plan record does not hold it.

    Raises
    ------
    LayoutError
        If a layout does not fit its value, or a grid needs more tiles than the plan has.
    """
    rule = Rule(rule)
    priced = tuple(price_step(plan, step, rule) for step in plan.steps)
    return report_of(plan, priced, rule, fetched)


def report_of(
    plan: Plan, priced: tuple[PeerStep, ...], rule: Rule, fetched: Collection[int] = ()
) -> PeerReport:
    """The report on a plan whose steps are priced: memory of the program and what it breaks."""
    steps = tuple(
        _with_slices(plan, step, price, fetched)
        for step, price in zip(plan.steps, priced, strict=True)
    )
    rows = sum(step.row_bytes for step in steps)
    peaks = program_peaks(plan, [step.temporary for step in steps], rows, fetched)
    refused = [violation for step in steps for violation in _step_violations(step)]
    return PeerReport(rule, steps, peaks, (*refused, *violations(peaks, rows)))


def price_step(plan: Plan, step: PlanStep, rule: Rule) -> PeerStep:
    """Price one step; of the plan only the values that the step names are looked at."""
    held = live(plan, step)
    match step:
        case ConversionStep():
            source, target = plan.values[step.value], plan.values[step.result]
            moved = price_rearrangement(
                source.layout,
                target.layout,
                source.rows,
                source.columns,
                source.element_bytes,
                plan.tiles,
                rule,
            )
            return PeerStep(
                step.name, moved.terms, moved.exchange_cycles, moved.row_bytes, held, Demand()
            )
        case MatMulStep():
            price = price_matmul(plan, step)
            temporary = Demand(price.temporary_standard, price.temporary_interleaved)
            return PeerStep(
                step.name, price.terms, price.exchange_cycles, price.row_bytes, held, temporary
            )
        case PointwiseStep():
            return PeerStep(step.name, {"kernel": _pointwise(plan, step)}, 0, 0, held, Demand())


def _with_slices(
    plan: Plan, step: PlanStep, priced: PeerStep, fetched: Collection[int]
) -> PeerStep:
    """Memory of a step: a fetched value is never whole, its reader holds slices of it."""
    if isinstance(step, ConversionStep) and step.result in fetched:
        return replace(priced, live=Demand())
    if isinstance(step, MatMulStep) and step.left in fetched:
        held = Demand()
        for index in (step.right, step.result):
            held += of_class(plan.values[index], shard_bytes(plan.values[index]))
        temporary = with_slices(priced.temporary, Product.of(plan, step))
        return replace(priced, live=held, temporary=temporary)
    return priced


def _pointwise(plan: Plan, step: PointwiseStep) -> int:
    """Cycles of the kernel on the fullest tile (cost-model.md 3.4)."""
    result = plan.values[step.result]
    elements = max_shard_elements(result.layout, result.rows, result.columns)
    match step.kind:
        case "Gelu":
            return gelu_cycles(elements)
        case "Add":
            return add_cycles(elements)
        case "Cast":
            return cast_cycles(shard_bytes(plan.values[step.inputs[0]]), shard_bytes(result))
        case other:
            raise ValueError(f"pointwise step of kind {other!r}, expected Gelu, Add or Cast")


def _step_violations(step: PeerStep) -> list[str]:
    """Steps that have no price: impossible rearrangements and operators beyond all memory."""
    found = []
    if step.cycles >= IMPOSSIBLE:
        found.append(f"{step.name}: impossible rearrangement")
    if step.peak.interleaved > INTERLEAVED_BYTES or step.peak.total > TOTAL_BYTES:
        found.append(f"{step.name}: operator needs {step.peak.total} bytes of {TOTAL_BYTES}")
    return found

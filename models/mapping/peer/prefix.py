"""The first operations of a chain as a plan, with their prices."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ipuopt.layout import Layout
from ipuopt.models.mapping.peer.chain import Choice, Link, value_of
from ipuopt.models.mapping.peer.price import PeerReport, PeerStep, price_step, report_of
from ipuopt.models.mapping.peer.rearrange import Rule
from ipuopt.models.mapping.peer.rotation import rotate_parameters
from ipuopt.plan import (
    ConversionMethod,
    ConversionStep,
    MatMulStep,
    Plan,
    PlannedValue,
    PlanStep,
)


@dataclass(frozen=True, slots=True)
class Prefix:
    """Values and steps of the first ``depth`` operations, and what each step costs.

    ``fetched`` are the values that a product fetches in slices from the one before.
    """

    tiles: int
    depth: int = 0
    values: tuple[PlannedValue, ...] = ()
    steps: tuple[PlanStep, ...] = ()
    priced: tuple[PeerStep, ...] = ()
    fetched: tuple[int, ...] = ()

    @property
    def cycles(self) -> int:
        """Cycles so far."""
        return sum(step.cycles for step in self.priced)

    @property
    def layout(self) -> Layout | None:
        """Layout of the value that the next operation reads; None before the first."""
        return self.values[self.steps[-1].result].layout if self.steps else None

    def report(self) -> PeerReport:
        """Memory of these operations, and the rules that it breaks."""
        return report_of(self._plan(self.values), self.priced, Rule.A, self.fetched)

    def plan(self) -> Plan:
        """The plan; its parameters are rotated as the public compiler does."""
        return self._plan(rotate_parameters(self.values, self.tiles))

    def _plan(self, values: tuple[PlannedValue, ...]) -> Plan:
        return Plan(tiles=self.tiles, values=values, steps=self.steps, joins_phases=True)

    def then(
        self,
        link: Link,
        choice: Choice,
        conversion: PeerStep | None,
        *,
        is_output: bool,
        in_slices: bool = False,
    ) -> Prefix:
        """These operations and the next one.

        Parameters
        ----------
        conversion
            Price of the conversion into ``choice.reads``; None where the activation lies so.
        is_output
            Whether the result lives to the end.
        in_slices
            Whether a product fetches what it reads in slices from the unconverted activation.
        """
        values, steps, priced = [*self.values], [*self.steps], [*self.priced]
        fetched = self.fetched
        if not steps:
            values.append(value_of(link.activation, link.activation.name, choice.reads))
            read = 0
        else:
            read = steps[-1].result
        if conversion is not None:
            values.append(converted(values[read], conversion.name, choice.reads))
            step = conversion_step(values[read], values[-1], conversion.name)
            read, source = len(values) - 1, read
            steps.append(replace(step, value=source, result=read, terms=conversion.terms))
            priced.append(conversion)
            fetched += (read,) if in_slices else ()
        loaded = len(values)
        if link.weight is not None and choice.loads is not None:
            values.append(value_of(link.weight, link.weight.name, choice.loads))
        values.append(value_of(link.result, link.operation.name, choice.makes, is_output=is_output))
        result, terms = len(values) - 1, choice.priced.terms
        if isinstance(choice.step, MatMulStep):
            steps.append(replace(choice.step, left=read, right=loaded, result=result, terms=terms))
        else:
            steps.append(replace(choice.step, inputs=(read,), result=result, terms=terms))
        priced.append(choice.priced)
        depth = self.depth + 1
        return Prefix(self.tiles, depth, tuple(values), tuple(steps), tuple(priced), fetched)


def converted(value: PlannedValue, name: str, layout: Layout) -> PlannedValue:
    """``value`` in another layout."""
    return replace(value, name=name, layout=layout, is_output=False)


def conversion_step(source: PlannedValue, target: PlannedValue, name: str) -> ConversionStep:
    """The step from value 0 to value 1, as the public compiler does it under rule A."""
    equal = source.layout.order == target.layout.order
    method = ConversionMethod.RETILE if equal else ConversionMethod.STAGE
    return ConversionStep(name=name, value=0, result=1, method=method)


def price_conversion(link: Link, source: Layout, target: Layout) -> PeerStep:
    """Price of bringing the activation of ``link`` from one layout into another."""
    made = value_of(link.activation, link.activation.name, source)
    values = made, converted(made, f"{made.name} for {link.operation.name}", target)
    step = conversion_step(*values, values[1].name)
    return price_step(Plan(tiles=link.tiles, values=values, steps=(step,)), step, Rule.A)

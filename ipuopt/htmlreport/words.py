"""Sentences of the page: what costs most, and what the proofs of the bounds say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ipuopt.figures import percent, thousands
from ipuopt.htmlreport.tiles import step_costs
from ipuopt.models.exchange import bounds
from ipuopt.models.exchange.sequence import SEQUENCE
from ipuopt.program import StepKind
from ipuopt.result import Built

ARGUMENTS = {
    bounds.SIMPLE: "one bus, mux or write port has to carry so many words that, with the "
    "way of the first and of the last one, no schedule can be shorter",
    bounds.PREEMPTIVE: "one bus, mux, write port or memory element is taken that long even "
    "if transfers could be interrupted at will",
    bounds.CHAIN: "transfers that have to wait for each other take that long",
    bounds.CLIQUE: "transfers of one tile that share a memory element exclude each "
    "other and take that long",
    SEQUENCE: "the shortest order of the transfers of one tile, with the time "
    "that has to pass between each two of them",
    bounds.PAIR: "the two buses of a pair have to carry that much, in any widths",
    bounds.WIDTHS: "no choice of widths, even in part, makes all buses finish earlier",
    "live bytes": "so many bytes of one tile are needed in the same step",
    "costs moved along edges": "costs of layouts moved between neighbouring operations leave no "
    "cheaper choice at any of them",
}
"""What an argument means, by the name that a report gives it."""

KINDS = {
    StepKind.PHASE: "exchange with synchronisation",
    StepKind.COPY: "copies",
    StepKind.RUN: "kernels",
}
"""Words for the kinds of steps."""


def costliest(built: Built, reports: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What costs most, as sentences: steps, then the longest phase and why it is not shorter."""
    costs = step_costs(built)
    total = max(1, int(costs.sum()))
    order = sorted(range(len(costs)), key=lambda step: -int(costs[step]))[:3]
    steps = built.program.steps
    listed = ", ".join(
        f"{steps[i].name} ({thousands(int(costs[i]))}, {percent(costs[i] / total)})" for i in order
    )
    yield f"Most of the {thousands(total)} cycles are spent in: {listed}."
    phases = [report for report in reports if report["stage"] == "exchange"]
    if not phases:
        return
    longest = max(phases, key=lambda report: report["objective"] or 0)
    yield (
        f"The exchange phase that costs most is {longest['model']}: "
        f"{thousands(longest['objective'])} cycles. {why(longest)}"
    )


def why(report: Mapping[str, Any]) -> str:
    """Whether what a report says is proven best, by what, and what is left."""
    if report["bound"] is None:
        return "Nothing is proven about it."
    source = report["bound_source"]
    meaning = ARGUMENTS.get(source)
    by = f"“{source}”" + (f": {meaning}" if meaning else "")
    if report["bound"] == report["objective"]:
        return f"It is optimal; the proof is {by}."
    left = percent(report["gap"])
    stopped = f" The search was stopped by {report['limit']}." if report["limit"] else ""
    return (
        f"It is not proven to be optimal: at least {thousands(report['bound'])} are needed, by {by}. "
        f"A gap of {left} is left.{stopped}"
    )

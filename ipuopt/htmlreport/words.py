"""Sentences of the page: what costs most, and what the proofs of the bounds say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ipuopt.figures import percent, thousands
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


Sentence = tuple[str, str]
"""What it is about, and what it says."""


def summary(
    built: Built, total: Mapping[str, Any], reports: Sequence[Mapping[str, Any]]
) -> Iterator[Sentence]:
    """The total and its gap, then what costs most and why it is not cheaper."""
    yield "Total", " ".join(_of_total(total, reports))
    costs = built.program.cycles_with(built.horizon)
    cycles = max(1, int(costs.sum()))
    order = sorted(range(len(costs)), key=lambda step: -int(costs[step]))[:3]
    steps = built.program.steps
    listed = ", ".join(
        f"{steps[i].name} ({thousands(int(costs[i]))}, {percent(costs[i] / cycles)})" for i in order
    )
    first = steps[order[0]]
    chosen = ""
    if first.kind == StepKind.RUN and reports[0]["stage"] == "mapping":
        chosen = f" Kernels and grids are chosen by mapping. {why(reports[0], 'Its choice')}"
    yield "Steps that cost most", f"{listed}.{chosen}"
    phases = [report for report in reports if report["stage"] == "exchange"]
    if phases:
        longest = max(phases, key=lambda report: report["objective"] or 0)
        text = f"{longest['model']}: {thousands(longest['objective'])} cycles. {why(longest)}"
        yield "Exchange phase that costs most", text


def _of_total(total: Mapping[str, Any], reports: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    cycles, bound = total["objective"], total["bound"]
    yield f"{thousands(cycles)} cycles."
    if bound is None:
        yield "A given plan has no bound of its total."
    else:
        yield (
            f"No program of the same candidates takes fewer than {thousands(bound)} under this "
            f"cost model: the gap is {percent(total['gap'])}."
        )
        mapping = reports[0]
        if mapping["bound"] == bound and mapping["objective"] is not None and cycles > bound:
            open_cycles = mapping["objective"] - bound
            yield (
                f"Of the {thousands(cycles - bound)} cycles between, mapping leaves {thousands(open_cycles)} "
                f"open; {thousands(cycles - mapping['objective'])} are what the program takes "
                "beyond mapping's prices, which count the least that a phase can take."
            )
    heuristic = total["heuristic"]
    if heuristic is not None:
        saved = percent((heuristic - cycles) / max(1, heuristic))
        yield f"Heuristics alone give {thousands(heuristic)}; the solvers save {saved}."


def why(report: Mapping[str, Any], subject: str = "It") -> str:
    """Whether what a report says is proven best, by what, and what is left."""
    if report["bound"] is None:
        return "Nothing is proven about it."
    source = report["bound_source"]
    meaning = ARGUMENTS.get(source)
    by = f"“{source}”" + (f": {meaning}" if meaning else "")
    if report["bound"] == report["objective"]:
        return f"{subject} is optimal; the proof is {by}."
    left = percent(report["gap"])
    at_least = f"at least {thousands(report['bound'])} are needed, by {by}."
    stopped = f" The search was stopped by: {report['limit']}." if report["limit"] else ""
    return f"{subject} is not proven to be optimal: {at_least} A gap of {left} is left.{stopped}"

"""Plots of a whole run: where its cycles go, and how a solve converged."""

from __future__ import annotations

from collections.abc import Mapping

from bokeh.models import HoverTool
from bokeh.plotting import figure

from ipuopt.figures import percent, thousands
from ipuopt.htmlreport.drawing import COLOURS, plot_of, source_of, whole


def cycles(parts: Mapping[str, int]) -> figure:
    """Where the cycles go: one stacked bar."""
    total = max(1, sum(parts.values()))
    names = list(parts)
    data = {name: [value] for name, value in parts.items()} | {"all": ["cycles"]}
    titles = [
        f"{name} {thousands(value)} ({percent(value / total)})" for name, value in parts.items()
    ]
    plot = figure(
        x_range=(0, total),
        y_range=["cycles"],
        height=150,
        sizing_mode="stretch_width",
        tools="save",
        toolbar_location=None,
        title="Where the cycles go",
    )
    plot.hbar_stack(
        names,
        y="all",
        height=0.6,
        color=COLOURS[: len(names)],
        source=data,
        legend_label=titles,
        line_color="white",
    )
    plot.add_tools(HoverTool(tooltips="$name: @$name{0,0} cycles"))
    plot.xaxis.formatter = whole()
    plot.legend.orientation = "horizontal"
    plot.add_layout(plot.legend[0], "below")
    return plot


def convergence() -> figure:
    """Incumbent and bound of one solve over its time."""
    plot = plot_of("convergence", 320, ("seconds", (0, 1)), ("", (0, 1)), also="hover")
    for name, colour, marker in (
        ("objective", COLOURS[0], "circle"),
        ("bound", COLOURS[1], "square"),
    ):
        source = source_of(f"solve_{name}", "x", "y")
        plot.step("x", "y", source=source, mode="after", line_width=2, color=colour)
        plot.scatter(
            "x", "y", source=source, size=7, color=colour, marker=marker, legend_label=name
        )
    plot.yaxis.formatter = whole()
    plot.yaxis[0].name = "solve_axis"
    plot.add_layout(plot.legend[0], "above")
    plot.legend.orientation = "horizontal"
    return plot

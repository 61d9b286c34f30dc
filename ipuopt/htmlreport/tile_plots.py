"""Plots of the tiles: where they lie, and the memory of one over the steps."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bokeh.models import ColorBar, FixedTicker, HoverTool, LinearColorMapper, TapTool
from bokeh.palettes import Cividis256
from bokeh.plotting import figure

from ipuopt.htmlreport.drawing import COLOURS, plot_of, source_of, span, whole
from ipuopt.target.fabric import ROWS
from ipuopt.target.memory import (
    BASE,
    DATA_HIGH,
    DATA_LOW,
    INTERLEAVED_ELEMENT,
    STANDARD_ELEMENT,
    STOP,
)

COLUMNS = 64
"""Physical tiles of a row of the chip."""


def floor() -> figure:
    """All tiles where they lie on the chip."""
    plot = plot_of(
        "floor",
        420,
        ("position in the row", (-0.5, COLUMNS - 0.5)),
        ("row", (ROWS - 0.5, -0.5)),
        also="tap",
    )
    source = source_of("floor_tiles", "x", "y", "tile", "value")
    mapper = LinearColorMapper(palette=Cividis256, low=0, high=1, name="floor_colours")
    tiles = plot.rect(
        "x",
        "y",
        0.96,
        0.96,
        source=source,
        fill_color={"field": "value", "transform": mapper},
        line_color=None,
        nonselection_fill_alpha=1.0,
    )
    picked = source_of("floor_picked", "x", "y")
    plot.rect(
        "x", "y", 1.1, 1.1, source=picked, fill_color=None, line_color="#d55e00", line_width=3
    )
    tips = [("tile", "@tile"), ("row, position", "@y, @x"), ("value", "@value{0,0}")]
    plot.add_tools(HoverTool(tooltips=tips, renderers=[tiles]))
    plot.select_one(TapTool).renderers = [tiles]
    plot.toolbar_location = "above"  # at the right it covers the numbers of the colour bar
    plot.min_border_right = 80  # the numbers of the bar
    plot.add_layout(ColorBar(color_mapper=mapper, formatter=whole()), "right")
    plot.grid.visible = False
    return plot


def _element_lines() -> list[int]:
    low = range(BASE, DATA_LOW[1], STANDARD_ELEMENT)
    return [*low, *range(DATA_HIGH[0], STOP, INTERLEAVED_ELEMENT)]


def _over_steps(
    name: str, height: int, steps: Sequence[str], y: tuple[str, tuple[float, float]]
) -> figure:
    """A plot over the steps, whose names stand in the middle of their time."""
    plot = plot_of(name, height, ("", (0, max(1, len(steps)))), y)
    plot.xaxis.ticker = FixedTicker(ticks=[at + 0.5 for at in range(len(steps))])
    plot.xgrid.ticker = FixedTicker(ticks=list(range(len(steps) + 1)))
    titles = (f"{at} {step}" for at, step in enumerate(steps))
    plot.xaxis.major_label_overrides = {at + 0.5: title for at, title in enumerate(titles)}
    plot.xaxis.major_label_orientation = math.pi / 6
    return plot


def memory(steps: Sequence[str]) -> figure:
    """Addresses of one tile over the steps: lifetimes as rectangles, elements as lines."""
    plot = _over_steps("memory", 620, steps, ("address", (BASE, STOP)))
    bands = source_of("memory_bands")
    bands.data = {
        "right": [len(steps)] * 4,
        "bottom": [BASE, DATA_LOW[0], DATA_HIGH[0], DATA_HIGH[0]],
        "top": [DATA_LOW[0], DATA_LOW[1], DATA_HIGH[0], STOP],
        "colour": ["#bdbdbd", "#ffffff", "#cfe0f0", "#ffffff"],
    }
    plot.quad(
        left=0,
        right="right",
        bottom="bottom",
        top="top",
        source=bands,
        fill_color="colour",
        line_color=None,
        level="image",  # below the lines of the elements
    )
    source = source_of(
        "memory_shards",
        *("left", "right", "bottom", "top", "colour", "line", "value", "role", "class", "size"),
        "address",
    )
    shards = plot.quad(
        "left",
        "right",
        "top",
        "bottom",
        source=source,
        fill_color="colour",
        fill_alpha=0.85,
        line_color="black",
        line_width="line",
    )
    plot.add_layout(span("memory_boundary", "width", "#d55e00", "dashed"))
    plot.add_tools(
        HoverTool(
            renderers=[shards],
            tooltips=[
                ("value", "@value"),
                ("role", "@role"),
                ("memory class", "@class"),
                ("bytes", "@size{0,0}"),
                ("address", "@address"),
                ("steps", "@left to @right"),
            ],
        )
    )
    plot.yaxis.ticker = plot.ygrid.ticker = FixedTicker(ticks=_element_lines())
    plot.yaxis.minor_tick_line_color = None
    plot.ygrid.grid_line_color = "#a0a0a0"
    plot.yaxis.major_label_overrides = {
        line: f"{line:#x}" if line % (1 << 15) == 0 else "" for line in _element_lines()
    }
    return plot


def liveness(steps: Sequence[str], capacity: int) -> figure:
    """Live bytes of one tile over the steps, and what a tile has."""
    plot = _over_steps("liveness", 300, steps, ("live bytes", (0, 1.05 * capacity)))
    source = source_of("live_bytes", "x", "y")
    plot.step("x", "y", source=source, mode="after", line_width=2, color=COLOURS[0])
    plot.add_layout(span("capacity", "width", "#d55e00", "dashed", capacity))
    plot.yaxis.formatter = whole()
    return plot

"""The plots: axes, glyphs and hovers; ``page.js`` fills their sources when something is picked.

Every source and every model that the script touches has a name. Colours are Cividis and the
palette of Okabe and Ito, which people with any colour vision can tell apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from bokeh.models import (
    ColorBar,
    ColumnDataSource,
    FixedTicker,
    HoverTool,
    LinearColorMapper,
    NumeralTickFormatter,
    Span,
    TapTool,
)
from bokeh.palettes import Cividis256, Colorblind
from bokeh.plotting import figure

from ipuopt.program import IntArray
from ipuopt.target.fabric import ROWS
from ipuopt.target.memory import (
    BASE,
    DATA_HIGH,
    DATA_LOW,
    INTERLEAVED_ELEMENT,
    STANDARD_ELEMENT,
    STOP,
)

COLOURS = tuple(Colorblind[8])
COLUMNS = 64
"""Physical tiles of a row of the chip."""
_TOOLS = "pan,wheel_zoom,box_zoom,reset,save"


def _whole() -> NumeralTickFormatter:
    """Whole numbers; a new one each time, since a page owns its models."""
    return NumeralTickFormatter(format="0,0")


def _source(name: str, *columns: str) -> ColumnDataSource:
    return ColumnDataSource({column: [] for column in columns}, name=name)


def _line(name: str, dimension: str, colour: str, dash: str) -> Span:
    return Span(
        location=0, dimension=dimension, line_color=colour, line_dash=dash, line_width=2, name=name
    )


def cycles(parts: Mapping[str, int]) -> figure:
    """Where the cycles go: one stacked bar."""
    total = max(1, sum(parts.values()))
    names = list(parts)
    data = {name: [value] for name, value in parts.items()} | {"all": ["cycles"]}
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
        legend_label=names,
        line_color="white",
    )
    plot.add_tools(HoverTool(tooltips="$name: @$name{0,0} cycles"))
    plot.xaxis.formatter = _whole()
    plot.legend.orientation = "horizontal"
    plot.add_layout(plot.legend[0], "below")
    return plot


def floor() -> figure:
    """All tiles where they lie on the chip."""
    plot = figure(
        name="floor",
        height=420,
        sizing_mode="stretch_width",
        tools=f"{_TOOLS},tap",
        x_range=(-0.5, COLUMNS - 0.5),
        y_range=(ROWS - 0.5, -0.5),
        x_axis_label="position in the row",
        y_axis_label="row",
    )
    source = _source("floor_tiles", "x", "y", "tile", "value")
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
    picked = _source("floor_picked", "x", "y")
    plot.rect(
        "x", "y", 1.1, 1.1, source=picked, fill_color=None, line_color="#d55e00", line_width=3
    )
    tips = [("tile", "@tile"), ("row, position", "@y, @x"), ("value", "@value{0,0}")]
    plot.add_tools(HoverTool(tooltips=tips, renderers=[tiles]))
    plot.select_one(TapTool).renderers = [tiles]
    plot.add_layout(ColorBar(color_mapper=mapper, formatter=_whole()), "right")
    plot.grid.visible = False
    return plot


def _element_lines() -> list[int]:
    low = range(BASE, DATA_LOW[1], STANDARD_ELEMENT)
    return [*low, *range(DATA_HIGH[0], STOP, INTERLEAVED_ELEMENT)]


def memory(steps: int) -> figure:
    """Addresses of one tile over the steps: lifetimes as rectangles, elements as lines."""
    plot = figure(
        name="memory",
        height=560,
        sizing_mode="stretch_width",
        tools=_TOOLS,
        x_range=(0, max(1, steps)),
        y_range=(BASE, STOP),
        x_axis_label="step",
        y_axis_label="address",
    )
    plot.quad(
        left=[0, 0, 0],
        right=[steps] * 3,
        bottom=[BASE, DATA_LOW[0], DATA_HIGH[0]],
        top=[DATA_LOW[0], DATA_LOW[1], STOP],
        fill_color=["#bdbdbd", "#f2f2f2", "#e3ecf5"],
        line_color=None,
        level="image",  # below the lines of the elements
    )
    source = _source(
        "memory_shards",
        *("left", "right", "bottom", "top", "colour", "value", "role", "size", "address"),
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
        line_width=0.5,
    )
    plot.add_layout(_line("memory_boundary", "width", "#d55e00", "dashed"))
    plot.add_tools(
        HoverTool(
            renderers=[shards],
            tooltips=[
                ("value", "@value"),
                ("role", "@role"),
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


def liveness(steps: int, capacity: int) -> figure:
    """Live bytes of one tile over the steps, and what a tile has."""
    plot = figure(
        name="liveness",
        height=220,
        sizing_mode="stretch_width",
        tools=_TOOLS,
        x_range=(0, max(1, steps)),
        y_range=(0, 1.05 * capacity),
        x_axis_label="step",
        y_axis_label="live bytes",
    )
    source = _source("live_bytes", "x", "y")
    plot.step("x", "y", source=source, mode="after", line_width=2, color=COLOURS[0])
    line = _line("capacity", "width", "#d55e00", "dashed")
    line.location = capacity
    plot.add_layout(line)
    plot.yaxis.formatter = _whole()
    return plot


def bus() -> figure:
    """Windows on the buses of some tiles: send, source, write; the chain; bound and horizon."""
    plot = figure(
        name="bus",
        height=520,
        sizing_mode="stretch_width",
        tools=_TOOLS,
        x_range=(0, 1),
        y_range=(1, 0),
        x_axis_label="event (cycles since the synchronisation)",
    )
    source = _source(
        "bus_windows",
        *("left", "right", "bottom", "top", "colour", "tile", "bus", "transfer", "sender", "line"),
    )
    windows = plot.quad(
        "left",
        "right",
        "top",
        "bottom",
        source=source,
        fill_color="colour",
        line_color="line",
        line_width=1.5,
    )
    tips = [
        ("bus", "@bus of tile @tile"),
        ("events", "@left{0,0} to @right{0,0}"),
        ("transfer", "@transfer from tile @sender"),
    ]
    plot.add_tools(HoverTool(tooltips=tips, renderers=[windows]))
    plot.add_layout(_line("bus_bound", "height", "#0072b2", "dashed"))
    plot.add_layout(_line("bus_horizon", "height", "black", "solid"))
    plot.yaxis.ticker = FixedTicker(ticks=[], name="bus_ticker")
    plot.yaxis[0].name = "bus_axis"
    plot.xaxis.formatter = _whole()
    plot.ygrid.visible = False
    return plot


def density(pictures: Sequence[IntArray]) -> figure:
    """All tiles of a phase: percent of the time that their buses are taken, a picture a phase."""
    plot = figure(
        name="density",
        height=320,
        sizing_mode="stretch_width",
        tools=_TOOLS,
        x_range=(0, 1),
        y_range=(0, 1),
        x_axis_label="event",
        y_axis_label="logical tile",
    )
    images = [picture.astype(np.uint8) for picture in pictures]
    plot.tags = [ColumnDataSource({"image": images}, name="density_pictures")]
    mapper = LinearColorMapper(palette=Cividis256, low=0, high=100)
    source = _source("density_image", "image", "x", "y", "dw", "dh")
    plot.image("image", "x", "y", "dw", "dh", source=source, color_mapper=mapper)
    plot.add_layout(ColorBar(color_mapper=mapper, title="% taken"), "right")
    plot.xaxis.formatter, plot.yaxis.formatter = _whole(), _whole()
    return plot


def convergence() -> figure:
    """Incumbent and bound of one solve over its time."""
    plot = figure(
        name="convergence",
        height=320,
        sizing_mode="stretch_width",
        tools=f"{_TOOLS},hover",
        x_range=(0, 1),
        y_range=(0, 1),
        x_axis_label="seconds",
    )
    for name, colour, marker in (
        ("objective", COLOURS[0], "circle"),
        ("bound", COLOURS[1], "square"),
    ):
        source = _source(f"solve_{name}", "x", "y")
        plot.step("x", "y", source=source, mode="after", line_width=2, color=colour)
        plot.scatter(
            "x", "y", source=source, size=7, color=colour, marker=marker, legend_label=name
        )
    plot.yaxis.formatter = _whole()
    plot.yaxis[0].name = "solve_axis"
    return plot

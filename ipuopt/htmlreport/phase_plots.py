"""Plots of an exchange phase: windows on the buses of some tiles, and how full all buses are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from bokeh.models import ColorBar, ColumnDataSource, FixedTicker, HoverTool, LinearColorMapper
from bokeh.palettes import Cividis256
from bokeh.plotting import figure

from ipuopt.htmlreport.drawing import plot_of, source_of, span, whole
from ipuopt.program import IntArray


def bus() -> figure:
    """Windows on the buses of some tiles: send, source, write; the chain; bound and horizon."""
    plot = plot_of("bus", 520, ("event (cycles since the synchronisation)", (0, 1)), ("", (1, 0)))
    source = source_of(
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
    plot.add_layout(span("bus_bound", "height", "#0072b2", "dashed"))
    plot.add_layout(span("bus_horizon", "height", "black", "solid"))
    plot.yaxis.ticker = FixedTicker(ticks=[], name="bus_ticker")
    plot.yaxis[0].name = "bus_axis"
    plot.xaxis.formatter = whole()
    plot.ygrid.visible = False
    return plot


def density(pictures: Sequence[IntArray]) -> figure:
    """All tiles of a phase: percent of the time that their buses are taken, a picture a phase."""
    plot = plot_of("density", 320, ("event", (0, 1)), ("logical tile", (0, 1)))
    images = [picture.astype(np.uint8) for picture in pictures]
    plot.tags = [ColumnDataSource({"image": images}, name="density_pictures")]
    mapper = LinearColorMapper(palette=Cividis256, low=0, high=100)
    source = source_of("density_image", "image", "x", "y", "dw", "dh")
    plot.image("image", "x", "y", "dw", "dh", source=source, color_mapper=mapper)
    plot.toolbar_location = "above"
    plot.add_layout(ColorBar(color_mapper=mapper, title="% taken"), "right")
    plot.xaxis.formatter, plot.yaxis.formatter = whole(), whole()
    return plot

"""What the plots share: set-up, sources, lines and colours.

Every source and every model that ``page.js`` touches has a name; it fills the sources when something
is picked. Colours are Cividis and the palette of Okabe and Ito, which people with any colour vision
can tell apart.
"""

from __future__ import annotations

from bokeh.models import ColumnDataSource, NumeralTickFormatter, Span
from bokeh.palettes import Colorblind
from bokeh.plotting import figure

COLOURS = tuple(Colorblind[8])
BUSES = {"send": COLOURS[0], "source": COLOURS[1], "write": COLOURS[3]}
"""Names and colours of the buses, in the order of their numbers in ``bus.py``."""

Axis = tuple[str, tuple[float, float]]
"""Label of an axis, empty where it has none, and where it begins and ends."""


def plot_of(name: str, height: int, x: Axis, y: Axis, *, also: str = "") -> figure:
    """An empty plot as wide as the page, with the tools that all have and those of ``also``."""
    return figure(
        name=name,
        height=height,
        sizing_mode="stretch_width",
        tools=",".join(filter(None, ("pan,wheel_zoom,box_zoom,reset,save", also))),
        x_axis_label=x[0],
        x_range=x[1],
        y_axis_label=y[0],
        y_range=y[1],
    )


def whole() -> NumeralTickFormatter:
    """Whole numbers; a new one each time, since a page owns its models."""
    return NumeralTickFormatter(format="0,0")


def source_of(name: str, *columns: str) -> ColumnDataSource:
    """An empty source with these columns."""
    return ColumnDataSource({column: [] for column in columns}, name=name)


def span(name: str, dimension: str, colour: str, dash: str, location: int = 0) -> Span:
    """A line over the whole width or height of a plot."""
    return Span(
        location=location,
        dimension=dimension,
        line_color=colour,
        line_dash=dash,
        line_width=2,
        name=name,
    )

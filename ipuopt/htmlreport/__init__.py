"""One HTML file of a finished run, from its run directory alone: pictures, tables, no network.

``render(path)`` reads the run and returns the page. Plots are Bokeh's, embedded in the page; what
a reader picks (a tile, a phase, a solve) is drawn by ``page.js`` from the tables that the page
carries as typed arrays. Nothing is solved here: windows follow from the start events, bounds and
their arguments from ``report.json``.
"""

from ipuopt.htmlreport.page import render

__all__ = ["render"]

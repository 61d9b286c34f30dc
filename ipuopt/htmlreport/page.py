"""The page as a whole: plots, tables, scripts and data in one file."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import orjson
from bokeh.embed import components
from bokeh.resources import Resources
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from ipuopt.htmlreport import phase_plots, run_plots, tables, tile_plots
from ipuopt.htmlreport.data import page_data
from ipuopt.htmlreport.drawing import BUSES
from ipuopt.htmlreport.tiles import CAPACITY_BYTES, cycle_parts, tile_facts
from ipuopt.htmlreport.words import summary
from ipuopt.rundir import read_run


def _resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def render(run: Path) -> str:
    """The page of a finished run.

    Raises
    ------
    InputError
        If ``run`` is no run directory, or a file of it is missing or damaged.
    """
    workload, built, report = read_run(run)
    reports = report["reports"]
    facts = tile_facts(built)
    names = [step.name for step in built.program.steps]
    parts = cycle_parts(built)
    data, pictures = page_data(built, facts, reports)
    plots = {
        "cycles": run_plots.cycles(parts),
        "floor": tile_plots.floor(),
        "memory": tile_plots.memory(names),
        "liveness": tile_plots.liveness(names, CAPACITY_BYTES),
        "bus": phase_plots.bus(),
        "density": phase_plots.density(pictures),
        "convergence": run_plots.convergence(),
    }
    script, divisions = components(plots, wrap_script=False)
    library = Resources(mode="inline", components=["bokeh"])
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    return environment.from_string(_resource("page.html")).render(
        title=workload.name,
        report=report,
        sentences=list(summary(built, report["total"], reports)),
        tiles=built.program.tiles,
        phases=[part["model"] for part in reports if part["stage"] == "exchange"],
        buses=BUSES,
        solves=[part["model"] for part in reports],
        plots={name: Markup(division) for name, division in divisions.items()},
        solve_table=tables.solves(reports, report["total"]),
        step_table=tables.steps(built),
        tile_table=tables.worst_tiles(facts),
        style=Markup(_resource("page.css")),
        library=[Markup(source) for source in library.js_raw],
        plot_script=Markup(script),
        page_script=Markup(_resource("page.js")),
        data=Markup(orjson.dumps(data).decode().replace("<", "\\u003c")),
    )

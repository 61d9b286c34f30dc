"""``ipuopt run``: the program of a finished run on a device, held against a reference."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ipuopt.cli.exit_codes import EXIT_REJECTED
from ipuopt.cli.logs import logging_options
from ipuopt.cli.streams import as_json_text, tell

if TYPE_CHECKING:
    from ipuopt.pipeline.execute import Execution
    from ipuopt.pipeline.profile import Profile

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
_COUNTS = ("model", "program", "device")


def _card_option(flag: str, help_text: str, default: str | None = None) -> Decorator:
    """An option that only a card needs; a variable of its name serves all runs on a machine."""
    return click.option(
        flag,
        type=click.Path(path_type=Path),
        metavar="FILE",
        help=f"Of a card: {help_text}",
        default=default,
        show_default=default is not None,
        envvar="IPUOPT_" + flag.removeprefix("--").replace("-", "_").upper(),
        show_envvar=True,
    )


@click.command(epilog="Example: ipuopt run runs/mlp-tiny")
@click.argument("run", type=click.Path(path_type=Path), metavar="RUN")
@click.option(
    "--device",
    type=click.Choice(["sim", "card"]),
    default="sim",
    show_default=True,
    help="Where it runs: the simulator, or a card of this machine.",
)
@_card_option("--card-config", "its configuration.")
@_card_option("--card-loader", "the vendor's secondary loader for its tiles.")
@_card_option("--card-node", "its device node.", default="/dev/ipu0")
@click.option(
    "--inputs",
    type=click.Path(path_type=Path),
    metavar="FILE.npz",
    help="Inputs and parameters by name; those it does not hold are drawn.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of draws.")
@click.option("--profile", is_flag=True, help="Also the cycle samples that the tiles take.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@logging_options
@click.pass_obj
def run(
    started: float,
    /,
    run: Path,
    device: str,
    card_config: Path | None,
    card_loader: Path | None,
    card_node: Path,
    inputs: Path | None,
    seed: int,
    profile: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Run the package of a finished run and compare with numpy.

    RUN is a run directory. The device gets the words of the package, nothing else; results are held
    against float32, cycles of exchange phases against the schedule.
    """
    card = None
    if device == "card":
        from ipuopt.device.card import Setup

        card = Setup(card_node, card_config, card_loader)
    from ipuopt.cli.underway import underway

    with underway(f"running {run}", started, quiet=quiet):
        from ipuopt.pipeline.execute import execute_run

        done = execute_run(run, inputs=inputs, seed=seed, profile=profile, card=card)
    code = 0 if done.passed else EXIT_REJECTED
    if as_json:
        content = {"exit_code": code, "device": device, **_content(done)}
        tell(as_json_text(content))
    else:
        tell("\n".join(_lines(done)))
    return code


def _verdict(passed: bool) -> str:
    return "PASS" if passed else "FAIL"


def _content(done: Execution) -> dict[str, Any]:
    outputs = [
        {
            "name": output.name,
            "largest_error": output.largest_error,
            "rms": output.rms,
            "cosine": output.cosine,
            "passed": output.passed,
        }
        for output in done.outputs
    ]
    sampled = {} if done.profile is None else {"profile": asdict(done.profile)}
    return {
        "passed": done.passed,
        "outputs": outputs,
        "phases": [asdict(phase) for phase in done.phases],
        "steps": [asdict(step) for step in done.steps],
        "kernels": [asdict(kernel) for kernel in done.kernels],
        **sampled,
    }


def _lines(done: Execution) -> list[str]:
    from ipuopt.cli.table import aligned
    from ipuopt.figures import thousands

    rows: list[tuple[str, ...]] = [("exchange phase", "schedule", "device")]
    rows += [
        (phase.name, thousands(phase.schedule), thousands(phase.device)) for phase in done.phases
    ]
    results: list[tuple[str, ...]] = [("output", "largest error", "rms", "cosine", "")]
    results += [
        (o.name, f"{o.largest_error:.2e}", f"{o.rms:.2e}", f"{o.cosine:.6f}", _verdict(o.passed))
        for o in done.outputs
    ]
    steps = [
        ("step of the plan", "model", "program", "device"),
        *((s.name, *map(thousands, (s.model, s.program, s.device))) for s in done.steps),
        ("total", *(thousands(sum(getattr(s, key) for s in done.steps)) for key in _COUNTS)),
    ]
    kernels: list[tuple[str, ...]] = [("kernel", "calls", "program", "device")]
    kernels += [(k.purpose, *map(thousands, (k.calls, k.program, k.device))) for k in done.kernels]
    counted = (rows, steps, kernels) if done.phases or done.steps or done.kernels else ()
    tables = (*counted, *_sampled(done.profile), results)
    return [line for table in tables for line in (*aligned(table), "")] + [_verdict(done.passed)]


def _sampled(profile: Profile | None) -> Iterator[list[tuple[str, ...]]]:
    from ipuopt.figures import thousands

    if profile is None:
        return
    rows: list[tuple[str, ...]] = [("sampled step", "kernel", "tiles", "longest", "elapsed")]
    rows += [
        (
            s.name,
            s.kernel.removeprefix("ipu_stack_"),
            *map(thousands, (s.tiles, s.longest, s.elapsed)),
        )
        for s in profile.steps
    ]
    yield [*rows, ("total", "", "", "", thousands(profile.total))]

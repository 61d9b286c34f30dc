"""``ipuopt inspect``: what a package, a plan or a snapshot holds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ipuopt.cli.logs import logging_options
from ipuopt.cli.streams import as_json_text, tell
from ipuopt.errors import InputError

if TYPE_CHECKING:
    from ipuopt.codegen.package import Package

_JSON_ENDINGS = (".json", ".gz")


@click.command(epilog="Example: ipuopt inspect runs/mlp-tiny/package.ipuexe --tile 0 --disassemble")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--bindings", is_flag=True, help="Of a package: also every tensor.")
@click.option(
    "--tile", type=int, metavar="N", help="Of a package: also the segments of physical tile N."
)
@click.option("--disassemble", is_flag=True, help="With --tile: also the code of the tile.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@logging_options
def inspect(
    file: Path, bindings: bool, tile: int | None, disassemble: bool, as_json: bool, quiet: bool
) -> int:
    """Show what a package, a plan or a snapshot holds.

    FILE is a package (.ipuexe), a plan (plan.json), or a snapshot of exchange phases (.json,
    .json.gz). A package is held against all rules of its format.
    """
    del quiet  # results are printed either way
    if disassemble and tile is None:
        raise click.UsageError("--disassemble needs --tile N: every tile has code of its own")
    if file.suffix in _JSON_ENDINGS:
        if bindings or tile is not None:
            raise click.UsageError("--bindings and --tile are for packages (.ipuexe)")
        content = _snapshot(file) or _plan(file)
        lines = list(_lines(content))
    else:
        content, lines = _package(file, bindings, tile, disassemble)
    if as_json:
        tell(as_json_text(content))
    else:
        tell("\n".join(lines))
    return 0


def _package(
    file: Path, bindings: bool, tile: int | None, disassemble: bool
) -> tuple[dict[str, Any], list[str]]:
    from ipuopt.codegen.package import listing, read_package

    package = read_package(file)
    content = listing.summary(package)
    lines = list(_package_lines(content, package))
    if bindings:
        content["bindings"] = listing.bindings(package)
        lines += [
            f'binding kind={b["kind"]} name="{b["name"]}" dtype={b["dtype"]} shape={b["shape"]}'
            f" slices={b['slices']}"
            for b in content["bindings"]
        ]
    if tile is not None:
        try:
            image = listing.tile_of(package, tile)
        except InputError as error:
            raise InputError(f"{file}: {error}") from None
        content["tile"] = listing.tile_summary(image)
        lines += _tile_lines(content["tile"])
        if disassemble:
            code = list(listing.code_lines(package, image))
            content["code"] = code
            lines += code
    return content, lines


def _package_lines(content: dict[str, Any], package: Package) -> Iterator[str]:
    from ipuopt.codegen.package import listing

    names = ("producer", "tiles", "storedBytes", "inputs", "outputs", "weights", "entries", "calls")
    yield " ".join(f"{name}={content[name]}" for name in names)
    for call in package.host.calls:
        sides = (("inputs", call.inputs), ("outputs", call.outputs))
        bytes_of = " ".join(f"{name}={int(slices.size.sum())}B" for name, slices in sides)
        yield f'call name="{call.name}" phases={call.phases} {bytes_of}'
    if not content["loadable"]:
        yield f"cannot be loaded: {content['obstacle']}"
    yield from listing.kernel_lines(content)


def _tile_lines(tile: dict[str, Any]) -> Iterator[str]:
    yield (
        f"tile={tile['tile']} entry={tile['entry']:#x} command={tile['command']:#x}"
        f" diagnostic={tile['diagnostic']:#x} segments={len(tile['segments'])}"
    )
    for segment in tile["segments"]:
        yield (
            f"segment address={segment['address']:#x} memorySize={segment['memorySize']}"
            f" dataBytes={segment['dataBytes']} flags={segment['flags']:#x}"
        )


def _snapshot(file: Path) -> dict[str, Any] | None:
    """Phases of a snapshot; None for an object that has none, which may be a plan."""
    if file.suffix != ".gz":
        from ipuopt.strict_json import load_object

        if "phases" not in load_object(file, "a plan or a snapshot"):
            return None
    from ipuopt.models.exchange.snapshot import load_snapshot

    snapshot = load_snapshot(file)
    phases = zip(snapshot.numbers, snapshot.problems, strict=True)
    return {
        "sha256": snapshot.sha256,
        "phases": [
            {
                "phase": number,
                "transfers": len(problem),
                "receivers": len(problem.destination_tile),
                "words": int(problem.words.sum()),
            }
            for number, problem in phases
        ],
    }


def _plan(file: Path) -> dict[str, Any]:
    from ipuopt.plan_file import read_plan_json

    plan = read_plan_json(file)
    return {
        "tiles": plan.tiles,
        "cycles": plan.cost,
        "values": [
            {
                "value": value.name,
                "shape": f"{value.rows} x {value.columns}",
                "dtype": value.dtype,
                "order": str(value.layout.order),
                "tiles": value.layout.tiles,
                "replicas": value.layout.replicas,
                "memory": value.layout.memory_class.value,
            }
            for value in plan.values
        ],
        "steps": [{"step": step.name, "cycles": sum(step.terms.values())} for step in plan.steps],
    }


def _lines(content: dict[str, Any]) -> Iterator[str]:
    """Scalars in one line, then a line an entry of each list."""
    yield " ".join(f"{k}={v}" for k, v in content.items() if not isinstance(v, list))
    for rows in content.values():
        if isinstance(rows, list):
            for row in rows:
                yield " ".join(f"{key}={value}" for key, value in row.items())

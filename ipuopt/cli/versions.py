"""``ipuopt versions``: what to send with a bug report."""

from __future__ import annotations

import click

from ipuopt.cli.streams import as_json_text, tell


@click.command(epilog="Example: ipuopt versions --json")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def versions(as_json: bool) -> int:
    """Print versions for a bug report."""
    from ipuopt import versions as source

    facts = source.versions() | source.machine()
    if as_json:
        tell(as_json_text(facts))
        return 0
    width = max(map(len, facts))
    tell("\n".join(f"{name.ljust(width)}  {value}" for name, value in facts.items()))
    return 0

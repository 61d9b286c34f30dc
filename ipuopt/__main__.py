"""The program ``ipuopt``, also as ``python -m ipuopt``."""

from __future__ import annotations

import sys


def run() -> None:
    """Run the command line; Ctrl-C while its modules are being imported ends without a traceback."""
    try:
        from ipuopt.cli import main

        main(prog_name="ipuopt")
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    run()

"""The program ``ipuopt``, also as ``python -m ipuopt``."""

from __future__ import annotations

import os
import signal

TYPE_CHECKING = False  # importing typing, or anything else here, would delay the handlers
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn


def _end(number: int, frame: FrameType | None) -> NoReturn:
    """End at once: nothing has been written that another command could not replace."""
    del frame
    try:
        os.write(2, b"error: interrupted\n")
    finally:
        os._exit(128 + number)


def run() -> None:
    """Run the command line.

    Ctrl-C and SIGTERM end it with one line from here on, also while its modules are imported;
    a solve has handlers of its own as soon as there may be something to write.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)
    from ipuopt.cli import main

    main(prog_name="ipuopt")


if __name__ == "__main__":
    run()

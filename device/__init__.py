"""Devices that run a package: one protocol, and a simulator that executes the words of the package.

:mod:`~ipuopt.device.protocol` is what every device does (``device.md`` 7). The simulator knows a
program by its package only: :mod:`~ipuopt.device.decode` splits words by the table of instructions,
:mod:`~ipuopt.device.code` runs supervisor and worker code, :mod:`~ipuopt.device.fabric` runs the rows
of an exchange phase event by event, :mod:`~ipuopt.device.packets` moves words between tiles and the
pages of the host, :mod:`~ipuopt.device.machine` keeps the tiles in step, and
:mod:`~ipuopt.device.simulator` feeds all that as a host does.

:mod:`ipuopt.device.card` runs packages on a card.
"""

from __future__ import annotations

from ipuopt.device.calls import run_once
from ipuopt.device.protocol import Session
from ipuopt.device.simulator import Simulator

__all__ = ["Session", "Simulator", "run_once"]

"""Runs packages on a card, through its kernel driver (``device.md``).

:mod:`~ipuopt.device.card.driver` is the card of a machine, :mod:`~ipuopt.device.card.initialise`
brings it into a known state, :mod:`~ipuopt.device.card.loader` loads a package,
:mod:`~ipuopt.device.card.session` feeds it, :mod:`~ipuopt.device.card.postmortem` tells where the tiles
of a lost program stand. :mod:`~ipuopt.device.card.program` does all that in order, and
:mod:`~ipuopt.device.card.process` in a process of its own.

Nothing of it has run on a card: what only a card can show stands in ``docs/device.md``.
"""

from __future__ import annotations

from ipuopt.device.card.process import run_apart
from ipuopt.device.card.setup import Setup

__all__ = ["Setup", "run_apart"]

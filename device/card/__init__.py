"""Runs packages on a card, through its kernel driver (``device.md``).

:mod:`~ipuopt.device.card.driver` is the card of a machine, :mod:`~ipuopt.device.card.initialise`
brings it into a known state, :mod:`~ipuopt.device.card.loader` loads a package.

Nothing of it has run on a card: what only a card can show stands in ``docs/device.md``.
"""

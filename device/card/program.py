"""A whole run on a card: initialisation, load, session, and its end (``device.md`` 2 to 4)."""

from __future__ import annotations

from contextlib import ExitStack

from ipuopt.codegen.package import Package
from ipuopt.device.calls import run_once
from ipuopt.device.card.configuration import Writes
from ipuopt.device.card.initialise import initialise
from ipuopt.device.card.loader import Loader
from ipuopt.device.card.session import CardSession
from ipuopt.device.card.waits import Clock
from ipuopt.device.protocol import Device


def run_program(
    device: Device,
    package: Package,
    *,
    configuration: Writes,
    secondary: bytes,
    weights: bytes,
    inputs: bytes,
    clock: Clock | None = None,
) -> bytes:
    """Run a package once; one load serves one run.

    Parameters
    ----------
    device
        Closed; it is closed again in the end, whatever happens.
    configuration, secondary
        Contents of the user's files.
    weights, inputs
        Contents of the calls ``initialize`` and ``run``.

    Returns
    -------
    bytes
        Output of the call ``run``.

    Raises
    ------
    InputError, MissingPartError, DeviceError
        As its parts do.
    """
    with ExitStack() as undo:
        device.open()
        undo.callback(device.close)
        initialise(device, configuration)
        Loader(device, secondary, clock=clock).load(package)
        session = undo.enter_context(CardSession(device, package, clock=clock))
        return run_once(session, package, weights, inputs)

"""Brings a card into the state in which it takes a program (``device.md`` 2)."""

from __future__ import annotations

from ipuopt.device.card.configuration import Writes
from ipuopt.device.card.registers import GS1, GS2, MARK_MASK
from ipuopt.device.protocol import Control, Device
from ipuopt.errors import DeviceError

RESET_MESSAGE = (0x4078020E, 0, 0, 0, 0)
"""Asks the card's controller for a reset (device.md 2)."""


def initialise(device: Device, writes: Writes) -> None:
    """Take an open card, reset it, and replay its configuration.

    Parameters
    ----------
    writes
        Of the user's configuration file; the two syncs in it are the vendor's own handshake and are
        left out.

    Raises
    ------
    DeviceError
        If the driver refuses, the controller gives no answer, or a sync does not clear.
    """
    device.control(Control.USER_ATTACH)
    device.control(Control.SET_ID)
    device.control(Control.STOP_MONITORING)
    answer = device.mailbox(RESET_MESSAGE)[0]
    if answer >> 16 != RESET_MESSAGE[0] >> 16:
        expected = f"{RESET_MESSAGE[0] >> 16:#x} in its upper half"
        raise DeviceError(f"initialisation: mailbox: found answer {answer:#x}, expected {expected}")
    device.control(Control.START_MONITORING)
    device.control(Control.ACCUMULATE_ERRORS)
    device.control(Control.RESET)
    device.control(Control.SET_SECONDARY_ID)
    for offset, value in writes:
        if offset not in (GS1, GS2):
            device.write32(offset, value)
    for offset in (GS1, GS2):
        device.write32(offset, 0)
        found = device.read32(offset)
        if found & MARK_MASK:
            where = f"initialisation: register {offset:#x}"
            raise DeviceError(f"{where}: found {found:#x}, expected 0 in its low 16 bits")

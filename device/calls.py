"""Calls of the host: batches between the bytes of a call and the pages (``device.md`` 4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import numpy.typing as npt

from ipuopt.codegen.package import HostCall, Package, Slices
from ipuopt.device.protocol import Session
from ipuopt.errors import InputError

Bytes = npt.NDArray[np.uint8]
Pages = Mapping[int, Bytes]
"""Bytes of the attached pages, by index."""


def find_call(package: Package, name: str, content: bytes) -> HostCall:
    """The call of a package, held against its input.

    Raises
    ------
    InputError
        For an unknown call, or content of the wrong length.
    """
    known = {call.name: call for call in package.host.calls}
    if name not in known:
        raise InputError(f"call {name}: found {', '.join(known) or 'no call'}, expected it")
    call = known[name]
    if len(content) != call.inputs.file_bytes:
        found = f"found {len(content)} bytes of input"
        raise InputError(f"call {name}: {found}, expected {call.inputs.file_bytes}")
    return call


def run_once(session: Session, package: Package, weights: bytes, inputs: bytes) -> bytes:
    """Perform all that one load serves, from the start of the session to its end.

    Parameters
    ----------
    session
        Of a device that has just been loaded with ``package``.
    weights, inputs
        Contents of the calls ``initialize`` and ``run``.

    Returns
    -------
    bytes
        Output of the call ``run``, complete.
    """
    session.start()
    if package.weights:
        session.call("initialize", weights)
    session.call("run", inputs)
    return session.finish()


def stream(call: HostCall, content: bytes, pages: Pages, grant: Callable[[int], None]) -> bytearray:
    """Perform a call in its streaming form; its output, of which the last batch may still come.

    Parameters
    ----------
    grant
        Called with the number of each phase: lets the tiles go on, and returns when they wait.
    """
    given, taken = np.frombuffer(content, np.uint8), bytearray(call.outputs.file_bytes)
    inputs = len(call.input_batch_ends)
    for phase in range(call.phases):
        batch = phase // 2
        if phase % 2 == 0 and batch < inputs:
            for page, offset, start, size in _places(call.inputs, call.input_batch_ends, batch):
                pages[page][offset : offset + size] = given[start : start + size]
        if phase % 2 == 0 and batch > inputs:
            _fetch(call, batch - inputs - 1, pages, taken)
        grant(phase)
    fetch_last(call, pages, taken)
    return taken


def fetch_last(call: HostCall, pages: Pages, taken: bytearray) -> None:
    """Copy the last output batch from its slots."""
    if call.output_batch_ends:
        _fetch(call, len(call.output_batch_ends) - 1, pages, taken)


def _fetch(call: HostCall, batch: int, pages: Pages, taken: bytearray) -> None:
    for page, offset, start, size in _places(call.outputs, call.output_batch_ends, batch):
        taken[start : start + size] = pages[page][offset : offset + size].tobytes()


def _places(slices: Slices, ends: tuple[int, ...], batch: int) -> Iterator[list[int]]:
    """Page, offset, place in the file and size of the slices of a batch."""
    part = slice(ends[batch - 1] if batch else 0, ends[batch])
    columns = (slices.tile, slices.address, slices.file_offset, slices.size)
    return iter(np.stack([c[part].astype(np.int64) for c in columns], axis=1).tolist())

"""Runs the package of a finished run on a device and compares with the reference."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ipuopt.codegen.package import read_package
from ipuopt.device import Simulator
from ipuopt.errors import InputError
from ipuopt.pipeline.cycles import KernelCycles, StepCycles, compare_cycles
from ipuopt.pipeline.profile import Profile, profile_of
from ipuopt.pipeline.reference import reference
from ipuopt.pipeline.tensors import packed, unpacked
from ipuopt.program_arrays import load_arrays
from ipuopt.rundir import PACKAGE, read_run
from ipuopt.workload import Workload
from ipuopt.workload.model import TensorKind

Tensor = npt.NDArray[Any]

LEAST_COSINE = 0.999
"""Between an output and its reference: what float16 sums of a few thousand terms keep."""


@dataclass(frozen=True, slots=True)
class Compared:
    """An output beside its reference."""

    name: str
    largest_error: float
    cosine: float

    @property
    def passed(self) -> bool:
        """Whether it is close enough; an output that is no number is not."""
        return bool(np.isfinite(self.largest_error) and self.cosine >= LEAST_COSINE)


@dataclass(frozen=True, slots=True)
class PhaseCycles:
    """Events of an exchange phase: in the schedule, and as the device counted them."""

    name: str
    schedule: int
    device: int


@dataclass(frozen=True, slots=True)
class Execution:
    """Outcome of a run on a device.

    Attributes
    ----------
    outputs, phases, steps
        In the order of the program.
    kernels
        By name of their purpose.
    profile
        Cycle samples, where they were asked for.
    """

    outputs: tuple[Compared, ...]
    phases: tuple[PhaseCycles, ...]
    steps: tuple[StepCycles, ...]
    kernels: tuple[KernelCycles, ...]
    profile: Profile | None = None

    @property
    def passed(self) -> bool:
        """Whether all outputs are close enough, and phases and kernels take what was planned."""
        return (
            all(output.passed for output in self.outputs)
            and all(phase.schedule == phase.device for phase in self.phases)
            and all(kernel.agrees for kernel in self.kernels)
        )


def execute_run(
    path: Path, *, inputs: Path | None = None, seed: int = 0, profile: bool = False
) -> Execution:
    """Load the package of a run into the simulator, run it, compare.

    Parameters
    ----------
    path
        Run directory.
    inputs
        ``.npz`` with inputs and parameters by name; what it does not hold is drawn.
    seed
        Of the draws.
    profile
        Whether to read cycle samples; the package has to take them.

    Raises
    ------
    InputError
        If the run, its package or the inputs cannot be used.
    CheckError
        With what the program did wrong on the device.
    """
    workload, built, _ = read_run(path)
    if not (path / PACKAGE).exists():
        found = f"found no {PACKAGE}"
        raise InputError(f"{path}: {found}, expected one: ipuopt package writes it")
    package = read_package(path / PACKAGE, loadable=True)
    if profile and not package.profile:
        wanted = f"some: ipuopt package {path} --profile takes them"
        raise InputError(f"{path / PACKAGE}: found no cycle samples, expected {wanted}")
    given = tensors_of(workload, inputs, seed)
    known = {value.name: value.tensor for value in built.plan.values}
    tensors = {name: given[tensor] for name, tensor in known.items() if tensor in given}
    with Simulator(package) as device:
        device.start()
        if package.weights:
            device.call("initialize", packed(built, package.weights, tensors))
        device.call("run", packed(built, package.inputs, tensors))
        content = device.finish()
        counted, ledger = list(device.machine.phases), device.machine.ledger
    bindings = [binding for binding in package.outputs if binding.name in known]
    results = unpacked(built, bindings, content)
    expected = reference(workload, given)
    outputs = [_compared(name, tensor, expected[known[name]]) for name, tensor in results.items()]
    steps = [built.program.steps[step].name for step in built.program.phases]
    if len(counted) != len(steps):
        found = f"{path}: found {len(counted)} phases in the package"
        raise InputError(f"{found}, expected {len(steps)} as in the program")
    phases = zip(steps, built.horizon.tolist(), counted, strict=True)
    return Execution(
        tuple(outputs),
        tuple(PhaseCycles(*phase) for phase in phases),
        *compare_cycles(built, counted, ledger),
        profile_of(package, content) if profile else None,
    )


def tensors_of(workload: Workload, file: Path | None, seed: int) -> dict[str, Tensor]:
    """Inputs and parameters by name: from ``file``, from what the workload names, or normal numbers.

    Files of the workload are looked for in the current folder. Drawn parameters are divided by the
    root of their rows, so that products keep the size of what goes in.
    """
    held = _read(file) if file is not None else {}
    random = np.random.default_rng(seed)
    result: dict[str, Tensor] = {}
    for name, tensor in workload.tensors.items():
        if tensor.kind is TensorKind.RESULT:
            continue
        drawn = random.standard_normal(tensor.shape)
        if tensor.kind is TensorKind.PARAMETER:
            drawn /= np.sqrt(tensor.rows)
        value = held.pop(name, None)
        if value is None:
            value = drawn if tensor.data is None else _named(tensor.data)
        if value.shape != tensor.shape:
            found = f"{name}: found shape {list(value.shape)}"
            raise InputError(f"{file or tensor.data}: {found}, expected {list(tensor.shape)}")
        result[name] = value.astype(tensor.dtype)
    if held:
        expected = ", ".join(sorted(result))
        raise InputError(f"{file}: found {min(held)!r}, expected inputs or parameters: {expected}")
    return result


def _named(source: str) -> Tensor:
    """The array that a workload names as ``file.npz#name``."""
    file, _, name = source.rpartition("#")
    held = _read(Path(file))
    if name not in held:
        found = f"found no array {name!r}"
        raise InputError(f"{file}: {found}, expected one of {', '.join(sorted(held))}")
    return held[name]


def _read(file: Path) -> dict[str, Tensor]:
    try:
        held = load_arrays(file)
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: found {error}, expected an .npz file of numpy") from None
    for name, value in held.items():
        if value.dtype.kind not in "fiu":
            raise InputError(f"{file}: {name}: found {value.dtype}, expected numbers")
    return held


def _compared(name: str, found: Tensor, expected: Tensor) -> Compared:
    one, other = found.astype(np.float64).ravel(), expected.astype(np.float64).ravel()
    size = np.linalg.norm(one) * np.linalg.norm(other)
    cosine = float(one @ other / size) if size else float(np.array_equal(one, other))
    return Compared(name, float(np.abs(one - other).max(initial=0.0)), cosine)

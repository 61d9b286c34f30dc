"""Runs the package of a finished run on a device and compares with the reference."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ipuopt.codegen.package import Package, read_package
from ipuopt.device import Simulator, run_once
from ipuopt.errors import InputError
from ipuopt.pipeline.cycles import KernelCycles, StepCycles, compare_cycles, executed_phases
from ipuopt.pipeline.profile import Profile, profile_of
from ipuopt.pipeline.reference import reference
from ipuopt.pipeline.tensors import packed, unpacked
from ipuopt.program_arrays import load_arrays
from ipuopt.result import Built
from ipuopt.rundir import PACKAGE, read_run
from ipuopt.workload import Workload
from ipuopt.workload.model import TensorKind

if TYPE_CHECKING:
    from ipuopt.device.card import Setup

Tensor = npt.NDArray[Any]

LEAST_COSINE = 0.999
"""Between an output and its reference: what float16 sums of a few thousand terms keep."""

MOST_ERROR = 0.05
"""Of any element, as a share of the reference's root mean square. Rounding stays several times below
it, and a cosine alone says nothing about a single wrong word among many thousand."""


@dataclass(frozen=True, slots=True)
class Compared:
    """An output beside its reference, whose root mean square is ``rms``."""

    name: str
    largest_error: float
    rms: float
    cosine: float

    @property
    def passed(self) -> bool:
        """Whether it is close enough, every element and all together.

        An output that is no number is not.
        """
        return self.largest_error <= MOST_ERROR * self.rms and self.cosine >= LEAST_COSINE


@dataclass(frozen=True, slots=True)
class PhaseCycles:
    """Events of an exchange phase: in the schedule, and as the device counted them.

    Of a phase in a repeat, the device's are those of the first iteration that takes another number,
    or of all.
    """

    name: str
    schedule: int
    device: int


@dataclass(frozen=True, slots=True)
class _Counted:
    """What a device counted."""

    phases: tuple[PhaseCycles, ...] = ()
    steps: tuple[StepCycles, ...] = ()
    kernels: tuple[KernelCycles, ...] = ()


@dataclass(frozen=True, slots=True)
class Execution:
    """Outcome of a run on a device.

    Attributes
    ----------
    outputs, phases, steps
        In the order of the program; a card counts no phases and steps.
    kernels
        By name of their purpose; none from a card.
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
    path: Path,
    *,
    inputs: Path | None = None,
    seed: int = 0,
    profile: bool = False,
    card: Setup | None = None,
) -> Execution:
    """Load the package of a run into the simulator or onto a card, run it, compare.

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
    card
        Where to run it; without one, in the simulator. A card counts no cycles but the samples.

    Raises
    ------
    InputError
        If the run, its package or the inputs cannot be used.
    CheckError
        With what the program did wrong in the simulator.
    MissingPartError
        With what a run on this card lacks.
    DeviceError
        With what the card did not do.
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
    weights = packed(built, package.weights, tensors)
    sent = packed(built, package.inputs, tensors)
    counted = _Counted()
    if card is None:
        content, counted = _simulated(path, built, package, weights, sent)
    else:
        from ipuopt.device.card import run_apart  # needs a Unix

        content = run_apart(card, path / PACKAGE, package, weights, sent)
    bindings = [binding for binding in package.outputs if binding.name in known]
    results = unpacked(built, bindings, content)
    expected = reference(workload, given)
    outputs = [_compared(name, tensor, expected[known[name]]) for name, tensor in results.items()]
    return Execution(
        tuple(outputs),
        counted.phases,
        counted.steps,
        counted.kernels,
        profile_of(package, content) if profile else None,
    )


def _simulated(
    path: Path, built: Built, package: Package, weights: bytes, inputs: bytes
) -> tuple[bytes, _Counted]:
    """Output of a run in the simulator, and what it counted."""
    with Simulator(package) as device:
        content = run_once(device, package, weights, inputs)
        counted, ledger = list(device.machine.phases), device.machine.ledger
    program, executed = built.program, executed_phases(built.program)
    if len(counted) != len(executed):
        found = f"{path}: found {len(counted)} phases in the package"
        raise InputError(f"{found}, expected {len(executed)} as in the program")
    phases, numbers = [], np.array(counted)
    for step, events in zip(program.phases, built.horizon.tolist(), strict=True):
        taken = numbers[executed == step].tolist()
        other = next((number for number in taken if number != events), events)
        phases.append(PhaseCycles(program.steps[step].name, events, other))
    cycles = compare_cycles(built, counted, ledger)
    return content, _Counted(tuple(phases), *cycles)


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
    rms = float(np.sqrt(np.mean(other * other)))
    return Compared(name, float(np.abs(one - other).max(initial=0.0)), rms, cosine)

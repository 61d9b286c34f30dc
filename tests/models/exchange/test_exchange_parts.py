"""Parts of equal structure are solved once, others side by side, with the same results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ipuopt.limits import Limits
from ipuopt.models.exchange import Problem, Solution, check, closing, solve
from ipuopt.models.exchange.alike import alike
from ipuopt.models.exchange.group import grouped
from ipuopt.models.exchange.several import solve_all
from ipuopt.report import SolveReport
from ipuopt.solvers.parallel import Workers

Transfer = tuple[int, int, int, Sequence[tuple[int, int]]]
MakePhase = Callable[..., Problem]
A, B, C = 0x64000, 0x6C000, 0x74000
ELEMENT = 0x8000


def components(make_phase: MakePhase) -> Problem:
    """Four parts without a common tile, nearly of one shape, all open after insertion."""
    transfers: list[Transfer] = []
    for part in range(4):
        random = np.random.default_rng(8)
        for number in range(16):
            source, *receivers = random.choice(5, 1 + random.integers(1, 4), False).tolist()
            spans = [(16 * part + t, A + 256 * int(random.integers(80, 250))) for t in receivers]
            address, words = A + 256 * int(random.integers(0, 80)), int(random.integers(5, 60))
            shorter = number == part
            transfers.append((16 * part + source, address, words - shorter, spans))
    return make_phase(transfers)


class Fake:
    """Workers that do every job here, and lose some."""

    remote = False

    def __init__(self, lost: Sequence[int] = ()) -> None:
        self.lost, self.seen = lost, 0

    def width(self, limits: Limits) -> int:
        return 2

    def run(self, function: Any, jobs: Sequence[Any], limits: Limits) -> list[Any]:
        self.seen += len(jobs)
        within = replace(limits, workers=None)
        return [
            None if place in self.lost else function(job, within) for place, job in enumerate(jobs)
        ]


def repeatable(problem: Problem, **more: Any) -> tuple[list[int], SolveReport]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(closing, "WORTH_WORKERS", 0)
        patch.setattr(closing, "COMPONENT_EFFORT", 0.4)
        solution, report = solve(problem, Limits(deterministic=True, threads=2, **more))
    assert check(problem, solution) == ()
    return solution.start.tolist(), report


def test_processes_find_what_one_process_finds(make_phase: MakePhase) -> None:
    problem = components(make_phase)
    start, report = repeatable(problem)
    assert report.run.solver.startswith("ortools ")
    with Workers(2) as workers:
        other, second = repeatable(problem, workers=workers)
        assert workers.used
    assert other == start
    assert (second.objective, second.bound) == (report.objective, report.bound)


def test_a_component_without_an_answer_is_left_as_it_is(make_phase: MakePhase) -> None:
    problem = components(make_phase)
    fake = Fake(lost=[0])
    _, report = repeatable(problem, workers=fake)
    assert fake.seen > 1
    assert "a component was left" in report.run.note
    assert report.limit is None


def shifted(problem: Problem, by: int, name: str = "shifted") -> Problem:
    return replace(
        problem,
        name=name,
        source_address=problem.source_address + by,
        destination_address=problem.destination_address + by,
    )


PHASE: list[Transfer] = [
    (0, A, 100, [(4, B), (6, B)]),
    (1, A, 100, [(5, B)]),
    (0, A + 400, 100, [(5, B + 400)]),
    (5, A, 100, [(1, C)]),
]


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({}, True),
        ({3: (5, A, 100, [(1, C + 64)])}, True),  # in the same element
        ({3: (5, B, 100, [(1, C)])}, False),  # reads what others write
        ({3: (5, B + 1600, 100, [(1, C)])}, False),  # shares their element
        ({2: (0, A + 400, 100, [(5, B + 404)])}, False),  # does not touch the span before
        ({2: (0, A + 404, 100, [(5, B + 400)])}, False),  # no multiple of 8
        ({3: (5, A, 101, [(1, C)])}, False),
        ({3: (5, A, 100, [(2, C)])}, False),
    ],
)
def test_which_addresses_decide(
    make_phase: MakePhase, change: dict[int, Transfer], same: bool
) -> None:
    one = make_phase(PHASE)
    other = make_phase([change.get(place, transfer) for place, transfer in enumerate(PHASE)])
    assert alike(one, other) is same
    assert alike(other, one) is same


def test_shifted_phases_are_solved_once(make_phase: MakePhase) -> None:
    """Each of them passes its own check, and says whose schedule it has."""
    one = make_phase(PHASE)
    problems = [one, shifted(one, ELEMENT), shifted(one, ELEMENT // 2, "half")]
    assert [group.places for group in grouped(problems[:2])] == [[0, 1]]
    answers = solve_all(problems, Limits(deterministic=True))
    for problem, answer in zip(problems, answers, strict=True):
        assert check(problem, answer.solution) == ()
        assert answer.report.model == problem.name
    assert answers[1].report.run.note == "of equal structure as phase"
    assert answers[1].solution.start.tolist() == answers[0].solution.start.tolist()


def test_a_cluster_takes_whole_phases(make_phase: MakePhase) -> None:
    """What has no answer is solved here."""
    problems = [make_phase(PHASE[:3]), make_phase(PHASE)]
    expected = solve_all(problems, Limits(deterministic=True))

    class Remote(Fake):
        remote = True

    for lost in ((), (0,)):
        remote = Remote(lost)
        answers = solve_all(problems, Limits(deterministic=True, workers=remote))
        assert remote.seen == 2
        for one, other in zip(expected, answers, strict=True):
            assert one.solution.start.tolist() == other.solution.start.tolist()
            assert one.report.bound == other.report.bound


@pytest.mark.slow
def test_phases_on_a_dask_cluster(make_phase: MakePhase) -> None:
    distributed = pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")
    problems = [make_phase(PHASE[:3]), components(make_phase)]
    expected = solve_all(problems, Limits(deterministic=True))
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        Workers(1, cluster.scheduler_address) as workers,
    ):
        answers = solve_all(problems, Limits(deterministic=True, workers=workers))
    for problem, one, other in zip(problems, expected, answers, strict=True):
        assert isinstance(other.solution, Solution)
        assert check(problem, other.solution) == ()
        assert one.solution.start.tolist() == other.solution.start.tolist()

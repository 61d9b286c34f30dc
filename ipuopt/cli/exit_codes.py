"""Exit codes of the commands, as the README explains them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ipuopt.report import Limit

EXIT_INTERNAL = 1
EXIT_USAGE = 2
EXIT_INFEASIBLE = 3
EXIT_LIMIT = 4
EXIT_NOTHING = 5
EXIT_REJECTED = 6
EXIT_INTERRUPTED = 130


def code_of_search(
    ends: Iterable[tuple[Limit | None, float | None]], asked_gap: float | None
) -> int:
    """0, 4 or 130 for searches that have a solution.

    4 needs a limit that cut a search short, with a gap above the asked one.

    Parameters
    ----------
    ends
        What stopped each search, and the gap that is left; None for nothing, and for no gap known.
    asked_gap
        Gap that is good enough; None for a proof.
    """
    from ipuopt.report import Limit

    cut = [end for end in ends if end[0] not in (None, Limit.GAP)]
    if any(limit is Limit.INTERRUPT for limit, _ in cut):
        return EXIT_INTERRUPTED
    within = all(gap is not None and gap <= (asked_gap or 0.0) for _, gap in cut)
    return 0 if within else EXIT_LIMIT

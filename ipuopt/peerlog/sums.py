"""Sums of horizons, bounds and gaps over the phases whose bound a log prints."""

from __future__ import annotations

from dataclasses import dataclass

from ipuopt.peerlog.table import Table
from ipuopt.report import gap_of


@dataclass(frozen=True, slots=True)
class HorizonSum:
    """Phases of one build, variant and stage; ``horizon`` and ``bound`` in cycles."""

    build: str
    variant: str
    stage: str
    phases: int
    horizon: int
    bound: int

    @property
    def gap(self) -> float | None:
        """Relative gap of the sums."""
        return gap_of(self.horizon, self.bound)


def horizon_sums(table: Table) -> tuple[HorizonSum, ...]:
    """Sums over the rows of ``exchange_phases`` that have both figures, a group a line."""
    groups: dict[tuple[str, str, str], list[tuple[int, int]]] = {}
    for row in table.rows:
        horizon, bound = row.get("selected_horizon"), row.get("endpoint_lower_bound")
        if isinstance(horizon, int) and isinstance(bound, int):
            group = (str(row["build"]), str(row.get("variant") or ""), str(row["stage"]))
            groups.setdefault(group, []).append((horizon, bound))
    return tuple(
        HorizonSum(*group, len(pairs), sum(h for h, _ in pairs), sum(b for _, b in pairs))
        for group, pairs in groups.items()
    )

"""The command line with a search of exchange phases that only waits; run as a script by tests.

Arguments: how the search behaves, then the command line's own.
"""

from __future__ import annotations

import sys
import time

from ipuopt.limits import Limits
from ipuopt.models.exchange import Problem, Solution, several
from ipuopt.models.exchange.group import grouped
from ipuopt.report import SolveReport


def main() -> None:
    behaviour, *arguments = sys.argv[1:]

    def solve(problem: Problem, limits: Limits, **more: object) -> tuple[Solution, SolveReport]:
        print("search runs", file=sys.stderr, flush=True)
        while behaviour == "deaf" or not limits.expired():
            time.sleep(0.01)
        (group,) = grouped([problem])
        group.begin(limits, False)
        group.interrupt()
        (answer,) = (answer for _, answer in group.answers())
        return answer.solution, answer.report

    vars(several)["solve"] = solve
    __import__("ipuopt.cli", fromlist=["main"]).main(arguments, prog_name="ipuopt")


if __name__ == "__main__":
    main()

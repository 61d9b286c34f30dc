"""Settings: which place wins, and what is said of a wrong value."""

from __future__ import annotations

import pytest

from ipuopt.errors import InputError
from ipuopt.options import OPTIONS, Solver
from ipuopt.settings import Setting, options_of, resolve


def test_precedence_with_origins() -> None:
    flags = {"seed": "1", "time_limit": "none"}
    environment = {"IPUOPT_SEED": "2", "IPUOPT_GAP": "0.02", "IPUOPT_THREADS": "", "SEED": "9"}
    section = {"seed": 3, "gap": 0.03, "solver": Solver.HIGHS, "threads": 5}
    settings = resolve(flags, environment, section)
    assert settings["seed"] == Setting(1, "flag --seed")
    assert settings["time_limit"] == Setting(None, "flag --time-limit")
    assert settings["gap"] == Setting(0.02, "IPUOPT_GAP")
    assert settings["threads"] == Setting(5, "workload")
    assert settings["solver"] == Setting(Solver.HIGHS, "workload")
    assert settings["deterministic"] == Setting(False, "default")
    assert list(settings) == [option.key for option in OPTIONS]
    options = options_of(settings)
    assert (options.seed, options.time_limit_s, options.gap, options.threads) == (1, None, 0.02, 5)


@pytest.mark.parametrize(
    ("flags", "environment", "message"),
    [
        ({"gap": "nan"}, {}, "--gap: found 'nan', expected a number from 0 to 1 as 0.01, or none"),
        ({}, {"IPUOPT_SEED": "x"}, "IPUOPT_SEED: found 'x', expected a whole number from 0 to "),
        ({"solver": "gurobi"}, {}, "--solver: found 'gurobi', expected auto, cpsat, highs or heur"),
        ({"memory_limit": "1KiB"}, {}, "--memory-limit: found '1KiB', expected at least 64MiB, or"),
        ({"time_limit": "0"}, {}, "--time-limit: found '0', expected a duration above 0 and up to"),
    ],
)
def test_wrong_settings(
    flags: dict[str, object], environment: dict[str, str], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        resolve(flags, environment, {})
    assert str(caught.value).startswith(message)

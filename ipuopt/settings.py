"""Values of the options with their origin: flag, ``IPUOPT_*`` variable, ``solve:`` section, default.

The first of these places that has a value wins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ipuopt.errors import InputError
from ipuopt.options import OPTIONS, SolveOptions


@dataclass(frozen=True, slots=True)
class Setting:
    """Value of an option and where it comes from."""

    value: Any
    origin: str


def resolve(
    flags: Mapping[str, object],
    environment: Mapping[str, str],
    section: Mapping[str, object],
) -> dict[str, Setting]:
    """Setting of every option by key.

    Parameters
    ----------
    flags
        By key; None where not given.
    environment
        Usually ``os.environ``; an empty variable counts as absent.
    section
        The workload's ``solve`` mapping, normalised.

    Raises
    ------
    InputError
        Naming the flag or variable, what was found, what would be right.
    """
    defaults = SolveOptions()
    settings: dict[str, Setting] = {}
    for option in OPTIONS:
        places = (
            (flags.get(option.key), option.flag, f"flag {option.flag}"),
            (environment.get(option.variable) or None, option.variable, option.variable),
        )
        for raw, place, origin in places:
            if raw is not None:
                try:
                    settings[option.key] = Setting(option.parse(raw), origin)
                except ValueError as error:
                    raise InputError(f"{place}: found {raw!r}, expected {error}") from None
                break
        else:
            if option.key in section:
                settings[option.key] = Setting(section[option.key], "workload")
            else:
                settings[option.key] = Setting(getattr(defaults, option.field), "default")
    return settings


def options_of(settings: Mapping[str, Setting]) -> SolveOptions:
    """Options with the values of ``settings``."""
    return SolveOptions(**{option.field: settings[option.key].value for option in OPTIONS})

"""Programs of the tiles: what a package's images are made of (``package.md`` 2, 3).

:mod:`~ipuopt.codegen.tile.stream` writes the steps of all tiles at once, :mod:`~ipuopt.codegen.tile.room`
gives code and rows their addresses, :mod:`~ipuopt.codegen.tile.support` tells placement where they need
more room, :mod:`~ipuopt.codegen.tile.code` is what all tiles share,
:mod:`~ipuopt.codegen.tile.build` puts a package together,
:mod:`~ipuopt.codegen.tile.check` holds it against its program.
"""

from __future__ import annotations

from ipuopt.codegen.tile.build import build_package
from ipuopt.codegen.tile.check import check_package
from ipuopt.codegen.tile.code import taken_names
from ipuopt.codegen.tile.support import least_ends, support_ends

__all__ = ["build_package", "check_package", "least_ends", "support_ends", "taken_names"]

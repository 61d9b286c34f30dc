"""Facts about the target chip, the IPU21 (C600), each with its source.

:mod:`~ipuopt.target.constants` counts, rates and latencies; :mod:`~ipuopt.target.fabric` where a tile
lies and how long a word travels; :mod:`~ipuopt.target.memory` regions and elements of a tile's memory;
:mod:`~ipuopt.target.kernels` cycles of kernels and local copies. Sources are the documents named at
each fact (``ipu21.md``, ``cost-model.md``, ``lowering.md``); they describe a public compiler for this
chip. Nothing here was measured on a card.
"""

"""Kernels that tile programs call: symbols, arguments, and what they compute.

All symbols begin with ``ipu_stack_``; the output is in $m2, inputs and scalars follow, at most seven
(``package.md`` 4). P x Q is the physical and R x C the logical extent of a shard, D a number type
(``f16``, ``f32``), M the elements of a micro-panel (16, 8).

==========================================  ===================================  =================
symbol                                      arguments after the output           cycles
==========================================  ===================================  =================
gemm_D_{init,accumulate}_{small,large}_     left, weights                        matmul_cycles
rows[_interleaved]_kK_cC_rA_rB
reduce_sum_D                                first, packed others, how many of    sum_cycles
                                            these, elements
gelu_tanh_approx_D                          input, elements                      gelu_cycles
add_D                                       left, right, elements, 1, 1          add_cycles
cast_D_D                                    input, elements                      cast_cycles
rearrange_row_major_to_amp_D_oT_rR_pP_      input, R, P, T, C, Q                 pack_cycles
cC_pQ
unpack_amp_to_row_major_D_oT_rR_pP_cC_pQ    input, matrices, R, P, C, Q          unpack_cycles
fill_zero_u64                               items div 6, items mod 6             clear_cycles
copy_u64                                    source, items div 6, items mod 6     copy_cycles
copy_strided_u64                            source, items a row, rows, source    copy_cycles
                                            and destination stride in bytes
static_copy_u32                             source, words                        copy_cycles
==========================================  ===================================  =================

Items are of 8 bytes. T of a rearrangement is 0 for AMP left, 1 for transposed right, 2 for
block-major with a block of 64; of an unpacking 0 for AMP output, 1 for transposed left. Other orders
and ``f32`` have no kernel in the public compiler: their symbols carry the name of the order instead
of T (``rearrange_row_major_to_block_major_32_f16_...``), and whoever links has to bring them. Rows of
row-major shards start at words, so an odd C of ``f16`` has rows of C + 1 elements.

:mod:`~ipuopt.codegen.kernels.calls` turns the runs and copies of a program into calls,
:mod:`~ipuopt.codegen.kernels.meaning` says what a call does to the memory of a tile,
:mod:`~ipuopt.codegen.kernels.asks` where its operands may lie, :mod:`~ipuopt.codegen.kernels.charges` what
it costs; :mod:`~ipuopt.codegen.kernels.table` finds all three by the symbol.
"""

from __future__ import annotations

from ipuopt.codegen.kernels.calls import Calls, copy_calls, run_calls

__all__ = ["Calls", "copy_calls", "run_calls"]

"""What kernel calls do to bytes, against numpy in wider numbers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from ipuopt.codegen.kernels.asks import OperandError
from ipuopt.codegen.kernels.gemm import accumulate
from ipuopt.codegen.kernels.names import gemm_name, transform_name
from ipuopt.codegen.kernels.table import act
from ipuopt.errors import InputError
from ipuopt.layout import LEFT, TRANSPOSED_LEFT, Order, OrderKind
from ipuopt.orders import element_index

BASE = 0x1000
OUT, ONE, TWO = BASE, BASE + 0x4000, BASE + 0x8000
Memory = npt.NDArray[np.uint8]


def put(memory: Memory, address: int, values: npt.NDArray[np.generic]) -> None:
    content = np.frombuffer(values.tobytes(), np.uint8)
    memory[address - BASE : address - BASE + len(content)] = content


def get(memory: Memory, address: int, dtype: type, count: int) -> npt.NDArray[np.float64]:
    size = count * np.dtype(dtype).itemsize
    return memory[address - BASE : address - BASE + size].view(dtype).astype(np.float64)


@pytest.fixture
def memory() -> Memory:
    return np.zeros(0x10000, np.uint8)


@pytest.mark.parametrize(("element", "result"), [(2, LEFT), (4, Order(OrderKind.OUTPUT))])
def test_matrix_product(memory: Memory, element: int, result: Order) -> None:
    random = np.random.default_rng(0)
    dtype = {2: np.float16, 4: np.float32}[element]
    rows, inner, columns = 5, 64, 32
    left = random.standard_normal((rows, inner)).astype(dtype)
    right = random.standard_normal((inner, columns)).astype(dtype)
    r, k, c = np.arange(rows), np.arange(inner), np.arange(columns)
    for address, values, order, x, y in (
        (ONE, left, LEFT, r[:, None], k),
        (TWO, right, Order(OrderKind.BLOCK_MAJOR, inner), k[:, None], c),
    ):
        packed = np.zeros(values.size, dtype)
        packed[element_index(order, x, y, len(values), values.shape[1], element)] = values
        put(memory, address, packed)
    expected = left.astype(np.float64) @ right.astype(np.float64)
    places = element_index(result, r[:, None], c, rows, columns, element)
    tolerance = {2: 0.1, 4: 1e-4}[element]
    for adds, factor in ((False, 1), (True, 2)):
        name = gemm_name(element, adds, False, inner, columns, rows, (3, rows))
        act(name, (OUT, ONE, TWO, 0, 0, 0, 0, 0), memory, BASE)
        found = get(memory, OUT, dtype, rows * columns)[places]
        np.testing.assert_allclose(found, factor * expected, atol=tolerance)


def test_rounding_is_unbiased_and_to_a_neighbour() -> None:
    """A quarter of the way from 1 to the next number; small numbers and large ones alike."""
    for value in (1 + 2**-12, -1 - 2**-12, 3.25 * 2**-24, 0.25 * 2**-24, 60008.0):
        low = np.float16(value)
        left = np.zeros((1, 4096, 16), np.float32)
        left[:, :, 0] = value
        weights = np.zeros((1, 1, 16, 16), np.float32)
        weights[:, :, 0] = 1
        found = accumulate(left, weights, np.zeros((1, 4096, 16), np.float32), 7).view(np.float16)
        step = float(np.spacing(abs(low)))
        assert np.all(abs(found.astype(np.float64) - value) < step)
        assert abs(found.astype(np.float64).mean() - np.float32(value)) < 0.01 * step


def test_what_float16_cannot_hold() -> None:
    left = np.zeros((1, 3, 16), np.float32)
    left[0, :, 0] = 1e6, -1e6, np.nan
    weights = np.ones((1, 1, 16, 16), np.float32)
    found = accumulate(left, weights, np.zeros((1, 3, 16), np.float32), 1).view(np.float16)[0, :, 0]
    np.testing.assert_array_equal(found, [np.inf, -np.inf, np.nan])


def test_sum_in_order_in_float16(memory: Memory) -> None:
    """2048 + 1 is 2048 in float16, each time."""
    put(memory, ONE, np.full(8, 2048, np.float16))
    put(memory, TWO, np.ones((3, 8), np.float16))
    act("ipu_stack_reduce_sum_f16", (OUT, ONE, TWO, 3, 8), memory, BASE)
    np.testing.assert_array_equal(get(memory, OUT, np.float16, 8), 2048)


@pytest.mark.parametrize(("number", "dtype"), [("f16", np.float16), ("f32", np.float32)])
def test_gelu_add_cast(memory: Memory, number: str, dtype: type) -> None:
    x: npt.NDArray[np.float32] = np.linspace(-6, 6, 64).astype(dtype)
    put(memory, ONE, x)
    put(memory, TWO, x[::-1])
    act(f"ipu_stack_gelu_tanh_approx_{number}", (OUT, ONE, 64), memory, BASE)
    wide = x.astype(np.float64)
    expected = wide / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (wide + 0.044715 * wide**3)))
    np.testing.assert_allclose(get(memory, OUT, dtype, 64), expected, atol=5e-3)
    act(f"ipu_stack_add_{number}", (OUT, ONE, TWO, 64, 1, 1), memory, BASE)
    np.testing.assert_allclose(get(memory, OUT, dtype, 64), wide + wide[::-1], atol=1e-6)
    other = {"f16": "f32", "f32": "f16"}[number]
    act(f"ipu_stack_cast_{number}_{other}", (OUT, ONE, 64), memory, BASE)
    after = {"f16": np.float16, "f32": np.float32}[other]
    np.testing.assert_array_equal(get(memory, OUT, after, 64), x.astype(after))


ORDERS = [
    (LEFT, True),
    (Order(OrderKind.TRANSPOSED_RIGHT), True),
    (Order(OrderKind.BLOCK_MAJOR, 64), True),
    (Order(OrderKind.BLOCK_MAJOR, 32), True),
    (TRANSPOSED_LEFT, False),
    (Order(OrderKind.OUTPUT), False),
    (LEFT, False),
]


@pytest.mark.parametrize(("order", "pack"), ORDERS)
@pytest.mark.parametrize("element", [2, 4])
def test_rearrangements(memory: Memory, order: Order, pack: bool, element: int) -> None:
    """Odd rows start at words; padding becomes zero."""
    dtype = {2: np.float16, 4: np.float32}[element]
    rows, columns, extents = 33, 13, (64, 16)
    width = columns + columns % (4 // element)
    name = transform_name(order, element, (rows, extents[0], columns, extents[1]), pack=pack)
    values = np.arange(1, rows * columns + 1).reshape(rows, columns).astype(dtype)
    r, c = np.arange(rows)[:, None], np.arange(columns)
    places = element_index(order, r, c, *extents, element)
    plain, packed = np.zeros((rows, width), dtype), np.zeros(extents[0] * extents[1], dtype)
    plain[:, :columns] = values
    packed[places] = values
    given, expected = (plain, packed) if pack else (packed, plain)
    put(memory, ONE, given)
    if pack:
        put(memory, OUT, np.ones(packed.size, dtype))
    act(name, (OUT, ONE, 0, 0, 0, 0, 0, 0), memory, BASE)
    found = get(memory, OUT, dtype, expected.size)
    np.testing.assert_array_equal(found, expected.ravel().astype(np.float64))


def test_copies_and_zeros(memory: Memory) -> None:
    values = np.arange(1, 65, dtype=np.uint64)
    put(memory, ONE, values)
    act("ipu_stack_copy_u64", (OUT, ONE, 1, 3), memory, BASE)
    np.testing.assert_array_equal(memory[:80].view(np.uint64), [*range(1, 10), 0])
    act("ipu_stack_copy_strided_u64", (OUT, ONE, 2, 3, 64, 32), memory, BASE)
    found = memory[:96].view(np.uint64).reshape(3, 4)[:, :2]
    np.testing.assert_array_equal(found, [[1, 2], [9, 10], [17, 18]])
    act("ipu_stack_fill_zero_u64", (OUT, 1, 3), memory, BASE)
    assert not memory[:72].any()
    assert memory[72:96].any()


def test_errors(memory: Memory) -> None:
    with pytest.raises(InputError, match="no meaning"):
        act("ipu_stack_attention", (OUT, ONE), memory, BASE)
    with pytest.raises(InputError, match=r"copy_u64: found an operand of 48 bytes at 0x10ff8"):
        act("ipu_stack_copy_u64", (OUT, BASE + 0xFFF8, 1, 0), memory, BASE)


@pytest.mark.parametrize(
    ("name", "arguments", "found"),
    [
        ("copy_u64", (OUT, ONE + 4, 1, 0), "m3 = 0x5004, expected a multiple of 8"),
        ("copy_strided_u64", (OUT, ONE, 1, 2, 12, 8), "m6 = 0xc, expected a multiple of 8"),
        ("fill_zero_u64", (OUT + 4, 0, 1), "m2 = 0x1004, expected a multiple of 8"),
        ("gelu_tanh_approx_f16", (OUT, ONE, 3), "m4 = 0x3, expected a multiple of 2"),
        ("reduce_sum_f16", (OUT, ONE, TWO, 1, 12), "m6 = 0xc, expected a multiple of 8"),
        ("reduce_sum_f16", (OUT, OUT + 64, TWO, 1, 8), "0x1040, expected elements of their own"),
        ("add_f16", (OUT, ONE, TWO + 2, 8, 1, 1), "m4 = 0x9002, expected a multiple of 8"),
        ("gemm_f16_init_small_rows_k16_c16_r4_r4", (OUT + 8, ONE, TWO), "a multiple of 32"),
        (
            "gemm_f16_init_small_rows_interleaved_k16_c16_r4_r4",
            (OUT, ONE, TWO),
            "found weights at 0x9000, expected them from 0x80000 on",
        ),
    ],
)
def test_what_kernels_ask_of_their_operands(
    memory: Memory, name: str, arguments: tuple[int, ...], found: str
) -> None:
    with pytest.raises(OperandError) as error:
        act(f"ipu_stack_{name}", (*arguments, *[0] * (8 - len(arguments))), memory, BASE)
    assert str(error.value).startswith(f"ipu_stack_{name}: found")
    assert str(error.value).endswith(found)

"""Instructions against the vectors, against sources of single words, and there and back."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ipuopt.codegen.isa import INSTRUCTIONS, assemble, disassemble, encode
from ipuopt.codegen.isa.encoding import Instruction
from ipuopt.codegen.rows.instructions import NAMES
from ipuopt.errors import InputError

BASE = 0x5C000


def test_vectors(vectors: dict[str, Any]) -> None:
    seen: Counter[str] = Counter()
    for name, operands, words in vectors["encodings"]:
        if words is None:
            with pytest.raises(ValueError, match="expected"):
                encode(name, *operands)
        else:
            assert list(encode(name, *operands)) == words
            (line,) = disassemble(words, BASE)
            assert (line.name, line.operands) == (name, tuple(operands))
        seen[name] += 1
    beyond = {name for name, form in INSTRUCTIONS.items() if form.source == "isa.md"}
    assert set(seen) == set(INSTRUCTIONS) - beyond


@pytest.mark.parametrize(
    ("text", "word"),
    [
        # Words of device.md 5.
        ("get $m0, 0x70", 0x41000070),
        ("get $m1, 0x70", 0x41010070),
        ("put 0x70, $m1", 0x43108070),
        ("ld32 $m0, $m15, $m1, 0", 0x01F01000),
        ("st32 $m0, $m1, $m15, 0", 0x4F10F000),
        ("trap 1", 0x41801001),
        # The first word of the bundle of isa.md, without the bit of bundles.
        ("add $m1, $m2, $m3", 0x44203011),
        # Formulas of isa.md with other registers in every place.
        ("runall $m1, $m2, 3", 0x15102003),
        ("exitz $m15", 0x43F04000),
        ("brnz $m2, 0x5c004", 0x11200000 + 0x5C004 // 4),
        ("brnzdec $m2, 0x5c004", 0x13280000 + 0x5C004 // 4),
        ("and $m1, $m2, 7", 0x42218007),
        ("shr $m1, $m2, 3", 0x4221D003),
        ("sub $m1, $m2, $m3", 0x44302612),
        ("put 7, $a2", 0x51208007),
        ("ld64 $a4:5, $m2, $m3, 6", 0x09243006),
        ("urand64 $a4:5", 0x50000140),
    ],
)
def test_words_beyond_the_vectors(text: str, word: int) -> None:
    assert assemble(text, BASE).words == (word,)
    (line,) = disassemble([word], BASE)
    assert line.text == text


def test_host_code() -> None:
    """The code of package.md 3.4 that sends 64 bytes from 0x50120 to the host."""
    text = """
        setzi $m8, 1
        put 0xa6, $m8
        send 1, 0x14058, 3
        send 15, 0x14048, 3
        delay 1
        send 1, 0x1405a, 3
        sync 0
        br $m10
    """
    listed = "19800001 438080a6 782a02c3 79ea0243 40a00001 782a02d3 41800000 43a00000"
    words = assemble(text, BASE).words
    assert [f"{word:08x}" for word in words] == listed.split()


def test_supervisor_programs(vectors: dict[str, Any]) -> None:
    """Whole programs of the public compiler: every word is known and comes back."""
    supervisor = vectors["supervisor"][0]
    address = supervisor["code_address"]
    programs = [p["words"] for p in supervisor["programs"] if p["words"] is not None]
    assert len(programs) >= 8
    for words in programs:
        lines = list(disassemble(words, address))
        assert all(line.name for line in lines)
        text = "\n".join(line.text for line in lines)
        assert list(assemble(text, address).words) == words


def test_instructions_are_told_apart() -> None:
    """No word belongs to two instructions, so the order of the table does not matter."""
    for one, other in itertools.combinations(INSTRUCTIONS.values(), 2):
        assert (one.code ^ other.code) & one.mask & other.mask


def test_instructions_of_rows_come_first() -> None:
    """The simulator compares their places in the table."""
    assert tuple(INSTRUCTIONS)[: len(NAMES)] == NAMES
    assert NAMES[-1] == "br"


def test_mnemonics_differ_in_operands() -> None:
    forms = Counter(
        (form.mnemonic, tuple(field.kind for field in form.fields))
        for form in INSTRUCTIONS.values()
    )
    assert set(forms.values()) == {1}


@st.composite
def instructions(draw: st.DrawFn) -> tuple[Instruction, tuple[int, ...]]:
    form = draw(st.sampled_from(list(INSTRUCTIONS.values())))
    steps = [
        draw(st.integers(field.least // field.scale, field.most // field.scale))
        for field in form.fields
    ]
    return form, tuple(n * field.scale for n, field in zip(steps, form.fields, strict=True))


@given(instructions())
def test_operands_come_back(chosen: tuple[Instruction, tuple[int, ...]]) -> None:
    form, operands = chosen
    words = form.encode(*operands)
    assert form.decode(*words) == operands
    (line,) = disassemble(words, BASE)
    assert (INSTRUCTIONS[line.name], line.operands) == (form, operands)
    assert assemble(line.text, BASE).words == words


@given(instructions())
def test_columns_are_encoded_alike(chosen: tuple[Instruction, tuple[int, ...]]) -> None:
    form, operands = chosen
    if form.words == 1:
        columns = [
            np.array([operand, field.least])
            for operand, field in zip(operands, form.fields, strict=True)
        ]
        least = tuple(field.least for field in form.fields)
        assert form.encode_many(*columns).tolist() == [
            *form.encode(*operands),
            *form.encode(*least),
        ]


def test_columns_out_of_range() -> None:
    with pytest.raises(ValueError, match=r"call: address: found 2, expected 0\.\.2097148"):
        INSTRUCTIONS["call"].encode_many(10, np.array([4, 2]))
    with pytest.raises(ValueError, match="setzi: imm: found -1"):
        INSTRUCTIONS["setzi"].encode_many(np.array([1]), -1)


@given(st.lists(st.integers(0, 2**32 - 1), max_size=12), st.integers(0, 3))
@example([0xF0000000], 0)
@example([0xF0000000, 1, 2], 1)
def test_any_words_come_back(words: list[int], place: int) -> None:
    address = BASE + 4 * place
    text = "\n".join(line.text for line in disassemble(words, address))
    assert list(assemble(text, address).words) == words


def test_labels_and_symbols() -> None:
    text = """
    start:  // comes first
        setzi $m0, end + 4
        brz $m0, start
        call $m10, helper
    end:
        .word 0xdeadbeef
    """
    code = assemble(text, BASE, {"helper": 0x4C018})
    assert code.labels == {"start": BASE, "end": BASE + 12}
    texts = [line.text for line in disassemble(code.words, BASE)]
    assert texts == [
        "setzi $m0, 0x5c010",
        "brz $m0, 0x5c000",
        "call $m10, 0x4c018",
        ".word 0xdeadbeef",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nope $m0", "line 1: found 'nope', expected an instruction"),
        ("\nsetzi $m0", "line 2: found operands $m0 of setzi, expected $m0..$m15, a number"),
        ("setzi $m16, 0", "found 16, expected 0..15"),
        ("setzi $m0, 0x100000", "imm: found 1048576, expected 0..1048575"),
        ("call $m0, 2", "found 2, expected 0..2097148 in steps of 4"),
        ("put 1, 2", "expected a number, $m0..$m15 or a number, $a0..$a15"),
        ("urand64 $a1:2", "found 1, expected 0..14 in steps of 2"),
        ("add $m0, $m0, -32769", "found -32769, expected -32768..32767"),
        ("sync there", "found there, expected a label or a known symbol"),
        ("sync 12x", "found 12x, expected a register, a number or a label"),
        ("a:\na:", "line 2: found label 'a', expected a name that is not in use"),
        ("1a:", "found label '1a'"),
        (".word 0x100000000", "found 4294967296, expected 0..0xffffffff"),
        (".word 1, 2", "found 2 operands of .word, expected 1"),
        ("br $m10\nsendpicp 0, 0, 0, 0, 0, 0, 0", "line 2: found sendpicp at 0x5c004"),
    ],
)
def test_mistakes(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        assemble(text, BASE)
    assert message in str(caught.value)


def test_odd_address() -> None:
    with pytest.raises(InputError, match="expected a multiple of 4"):
        assemble("br $m0", BASE + 2)

"""Text of a workload file to a tree of nodes that know their line and column.

The event stream of a YAML 1.2 parser is composed here rather than by the parser's own loader, which
resolves tags, lets later duplicates win in some modes, and has no bound on alias expansion or depth.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.reader import ReaderError

from ipuopt.errors import InputError
from ipuopt.workload.scalars import Scalar, resolve

MAX_BYTES = 4 << 20
"""Largest workload file; the parser reads about 100 kB a second."""
MAX_DEPTH = 32
"""Deepest nesting."""
MAX_NODES = 1_000_000
"""Most nodes, each alias counted as all that it stands for."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a text, counted from 1; line 0 where there is no text."""

    line: int
    column: int


NOWHERE = Mark(0, 0)


@dataclass(frozen=True, slots=True)
class Node:
    """A value of the document.

    Attributes
    ----------
    value
        A scalar, a tuple of nodes, or a mapping from key to :class:`Entry`.
    mark
        Where it stands.
    count
        Nodes in it, itself included.
    """

    value: Scalar | tuple[Node, ...] | Mapping[str, Entry]
    mark: Mark
    count: int = 1


@dataclass(frozen=True, slots=True)
class Entry:
    """Value of a key, and where the key stands."""

    node: Node
    key_mark: Mark


def located(file: str, mark: Mark, path: str, found: str, expected: str) -> InputError:
    """The error that all parts of the reader raise."""
    place = file if mark is NOWHERE or not mark.line else f"{file}:{mark.line}:{mark.column}"
    key = f"{path}: " if path else ""
    return InputError(f"{place}: {key}found {found}, expected {expected}")


def shown(value: object) -> str:
    """A found value on one line, cut at 60 characters, control characters escaped."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and value.bit_length() > 200:
        return f"a number of {value.bit_length()} bits"
    text = ascii(value) if isinstance(value, str) and not value.isprintable() else repr(value)
    return text if len(text) <= 60 else f"{text[:56]}...{text[-1]}"


def decode(raw: bytes, file: str) -> str:
    """Text of a file that must be UTF-8; a byte order mark is skipped.

    Raises
    ------
    InputError
        For other encodings, binary data, and more than :data:`MAX_BYTES`.
    """
    if len(raw) > MAX_BYTES:
        raise located(file, NOWHERE, "", f"more than {MAX_BYTES} bytes", "a workload below that")
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise located(file, NOWHERE, "", "UTF-16 or UTF-32 text", "UTF-8")
    if b"\0" in raw:
        raise located(file, NOWHERE, "", f"binary data (zero byte at {raw.index(0)})", "UTF-8 text")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        byte = f"byte 0x{raw[error.start]:02x}"
        raise located(file, Mark(line, column), "", byte, "UTF-8 text") from None


def parse(text: str, file: str) -> Node:
    """Compose the only document of ``text``.

    Raises
    ------
    InputError
        For bad syntax, duplicate keys, tags, several documents, and too many or too deep nodes.
    """
    events = _events(text, file)
    composer = _Composer(file, events)
    next(events)  # start of the stream
    if _kind(next(events)) != "DocumentStart":
        raise located(file, Mark(1, 1), "", "an empty file", "a workload")
    root = composer.node(next(events), "", 0)
    next(events)  # end of the document
    after = next(events)
    if _kind(after) != "StreamEnd":
        raise located(file, _mark(after), "", "a second document", "one document a file")
    return root


def _kind(event: Any) -> str:
    return type(event).__name__.removesuffix("Event")


def _mark(event: Any) -> Mark:
    return Mark(event.start_mark.line + 1, event.start_mark.column + 1)


def _events(text: str, file: str) -> Iterator[Any]:
    """Parser events; syntax errors become one line."""
    try:
        yield from YAML(typ="safe", pure=True).parse(text)
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        column = error.position - text.rfind("\n", 0, error.position)
        found = f"control character {shown(text[error.position])}"
        raise located(file, Mark(line, column), "", found, "printable text") from None
    except MarkedYAMLError as error:
        place = error.problem_mark or error.context_mark
        mark = Mark(place.line + 1, place.column + 1) if place else NOWHERE
        problem = " ".join(str(error.problem or error.context).split())
        if "'\\t'" in problem:
            raise located(file, mark, "", "a tab", "spaces for indentation") from None
        context = f" {' '.join(str(error.context).split())}" if error.context else ""
        expected = "YAML 1.2 or JSON"
        raise located(file, mark, "", f"bad syntax ({problem}{context})", expected) from None
    except YAMLError as error:
        problem = " ".join(str(error).split())
        raise located(file, NOWHERE, "", f"bad syntax ({problem})", "YAML 1.2 or JSON") from None


class _Composer:
    """Builds nodes from events."""

    def __init__(self, file: str, events: Iterator[Any]) -> None:
        self.file = file
        self.events = events
        self.anchors: dict[str, Node | None] = {}  # None while the node is being composed
        self.count = 0

    def node(self, event: Any, path: str, depth: int) -> Node:
        """The node that starts with ``event``."""
        mark = _mark(event)
        if _kind(event) == "Alias":
            return self._counted(self._alias(event.anchor, mark, path), path)
        if event.tag is not None:
            raise located(self.file, mark, path, f"the tag {_tag(event)}", "no tags")
        if depth > MAX_DEPTH:
            raise located(self.file, mark, path, "deeper nesting", f"at most {MAX_DEPTH} levels")
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        match _kind(event):
            case "Scalar":
                plain = event.style is None
                node = Node(resolve(event.value) if plain else _paired(event.value), mark)
            case "SequenceStart":
                node = self._sequence(mark, path, depth)
            case _:
                node = self._mapping(mark, path, depth)
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        return self._counted(Node(node.value, mark, node.count), path, 1)

    def _counted(self, node: Node, path: str, new: int | None = None) -> Node:
        self.count += node.count if new is None else new
        if self.count > MAX_NODES:
            found = f"more than {MAX_NODES} values (aliases expanded)"
            raise located(self.file, node.mark, path, found, "fewer")
        return node

    def _alias(self, anchor: str, mark: Mark, path: str) -> Node:
        if anchor not in self.anchors:
            raise located(self.file, mark, path, f"alias *{anchor}", "an anchor before it")
        node = self.anchors[anchor]
        if node is None:
            raise located(self.file, mark, path, f"alias *{anchor} inside itself", "no recursion")
        return Node(node.value, mark, node.count)

    def _sequence(self, mark: Mark, path: str, depth: int) -> Node:
        items: list[Node] = []
        while _kind(event := next(self.events)) != "SequenceEnd":
            items.append(self.node(event, f"{path}[{len(items)}]", depth + 1))
        return Node(tuple(items), mark, 1 + sum(item.count for item in items))

    def _mapping(self, mark: Mark, path: str, depth: int) -> Node:
        entries: dict[str, Entry] = {}
        while _kind(event := next(self.events)) != "MappingEnd":
            key_mark = _mark(event)
            key = self._key(event, path)
            inner = joined(path, key)
            if key in entries:
                first = entries[key].key_mark.line
                found = f"the key a second time (first on line {first})"
                raise located(self.file, key_mark, inner, found, "each key once")
            entries[key] = Entry(self.node(next(self.events), inner, depth + 1), key_mark)
        return Node(entries, mark, 1 + sum(1 + entry.node.count for entry in entries.values()))

    def _key(self, event: Any, path: str) -> str:
        mark = _mark(event)
        if _kind(event) != "Scalar":
            raise located(self.file, mark, path, "a key that is no plain word", "a string as key")
        if event.tag is not None:
            raise located(self.file, mark, path, f"the tag {_tag(event)}", "no tags")
        value = resolve(event.value) if event.style is None else _paired(event.value)
        if not isinstance(value, str):
            found = f"the {kind_of(value)} {event.value or 'null'} as key"
            raise located(self.file, mark, path, found, "a string (quote it)")
        if event.anchor is not None:
            self.anchors[event.anchor] = Node(value, mark)
        return value


def _tag(event: Any) -> str:
    """The tag as it was written."""
    return shown(str(event.tag).replace("tag:yaml.org,2002:", "!!"))


def _paired(text: str) -> str:
    """JSON writes characters past the basic plane as two escapes; YAML reads them one by one."""
    if text.isprintable():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def joined(path: str, key: str) -> str:
    """Path of ``key`` inside ``path``; a key with other characters is quoted."""
    plain = key.replace("_", "a").replace("-", "a").isalnum()
    name = key if plain else shown(key)
    return f"{path}.{name}" if path else name


def kind_of(value: object) -> str:
    """What a value is, for people."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "mapping" if isinstance(value, Mapping) else "list"

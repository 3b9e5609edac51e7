"""Makes core/embedding/data/lookup.json: `python -m tests.lookup_patch` writes it anew.

The installed model keeps its table of words as bytes with a scale for each row, and multiplies the whole table before
it looks up the few rows that it needs. Looked up first and multiplied then, the numbers are the same to the bit. The
patch says of what the model in that order is made: ranges of the installed file, and what goes between them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

from core.embedding.model_files import LOOKUP, default_model_path

TABLE = "inner.embeddings.word_embeddings.weight"
_GRAPH, _NODE = 7, 1  # fields of ModelProto and GraphProto
_INPUT, _OUTPUT, _NAME, _KIND, _ATTRIBUTE = 1, 2, 3, 4, 5  # fields of NodeProto
_LENGTH_DELIMITED = 2

Piece = str | list[int]


class Field(NamedTuple):
    """A field of a message: its number, where it begins and ends, and where its content begins."""

    number: int
    start: int
    content: int
    end: int


class Node(NamedTuple):
    field: Field
    kind: str
    inputs: list[str]
    output: str
    attributes: list[bytes]


def _number(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data: bytes, start: int, end: int) -> Iterator[Field]:
    """The fields of a protocol buffer message that lies between two places."""
    while start < end:
        key, at = _number(data, start)
        kind = key & 7
        if kind == _LENGTH_DELIMITED:
            length, at = _number(data, at)
            last = at + length
        else:
            last = _number(data, at)[1] if kind == 0 else at + {1: 8, 5: 4}[kind]
        yield Field(key >> 3, start, at, last)
        start = last


def encoded(value: int) -> bytes:
    """A number as it stands in a message."""
    low = bytearray()
    while value > 127:
        low.append(value & 127 | 128)
        value >>= 7
    return bytes([*low, value])


def field(number: int, content: bytes) -> bytes:
    return encoded(number << 3 | _LENGTH_DELIMITED) + encoded(len(content)) + content


def node_of(data: bytes, found: Field) -> Node:
    parts: dict[int, list[bytes]] = {}
    for part in fields(data, found.content, found.end):
        parts.setdefault(part.number, []).append(data[part.content : part.end])
    inputs, outputs = ([name.decode() for name in parts.get(number, [])] for number in (_INPUT, _OUTPUT))
    return Node(found, parts[_KIND][0].decode(), inputs, outputs[0], parts.get(_ATTRIBUTE, []))


def graph_of(data: bytes) -> tuple[Field, list[Node]]:
    """The graph of a model, and its nodes."""
    graph = next(found for found in fields(data, 0, len(data)) if found.number == _GRAPH)
    return graph, [node_of(data, found) for found in fields(data, graph.content, graph.end) if found.number == _NODE]


def written(kind: str, inputs: list[str], output: str, attributes: list[bytes]) -> bytes:
    return field(
        _NODE,
        b"".join(field(_INPUT, name.encode()) for name in inputs)
        + field(_OUTPUT, output.encode())
        + field(_NAME, f"lookup_{output}".encode())
        + field(_KIND, kind.encode())
        + b"".join(field(_ATTRIBUTE, attribute) for attribute in attributes),
    )


def pieces_of(data: bytes) -> list[Piece]:
    """The patch of a model: `[start, end]` of the file, or bytes in hex."""
    graph, nodes = graph_of(data)
    cast = next(node for node in nodes if node.kind == "Cast" and node.inputs == [f"{TABLE}_q"])
    scaled = next(node for node in nodes if node.kind == "Mul" and node.inputs == [cast.output, f"{TABLE}_scale"])
    gathers = [node for node in nodes if scaled.output in node.inputs]
    (gather,) = gathers
    assert gather.kind == "Gather"
    ids = gather.inputs[1]
    first = b"".join(
        (
            written("Gather", [f"{TABLE}_q", ids], "row_q", gather.attributes),
            written("Gather", [f"{TABLE}_scale", ids], "row_scale", gather.attributes),
            written("Cast", ["row_q"], "row", cast.attributes),
            written("Mul", ["row", "row_scale"], gather.output, []),
        )
    )
    kept: list[list[int]] = []
    at = graph.content
    for left_out in sorted(node.field for node in (cast, scaled, gather)):
        kept.append([at, left_out.start])
        at = left_out.end
    kept.append([at, graph.end])
    length = len(first) + sum(end - start for start, end in kept)
    head = encoded(_GRAPH << 3 | _LENGTH_DELIMITED) + encoded(length) + first
    kept[-1][1] = len(data)  # what follows the graph
    return [[0, graph.start], head.hex(), *(part for part in kept if part[0] < part[1])]


def main() -> None:
    pieces = pieces_of(default_model_path().read_bytes())
    LOOKUP.write_text(json.dumps(pieces) + "\n", "utf-8")


if __name__ == "__main__":
    main()

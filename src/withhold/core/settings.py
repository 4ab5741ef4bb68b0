"""Read the settings of a method or a recipe from a YAML file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from withhold.core.errors import UserError
from withhold.core.safe_read import MOST_DEPTH, check_document, read_bounded, reason

_MOST_BYTES = 2**18
# After expanding aliases: ten lines of aliases of aliases can make 10^10 nodes.
_MOST_NODES = 100_000
_LONGEST_NUMBER = 1000  # characters; parsing a number such as `1:1:1:…` takes quadratic time


def read_settings(path: Path) -> dict[str, Any]:
    """The NAME: VALUE lines of a YAML file; an empty file gives an empty mapping."""
    try:
        text = read_bounded(path, _MOST_BYTES).decode("utf-8")
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not YAML: it is not text in UTF-8") from error
    found = parse_yaml(text, str(path))
    if found is not None and not isinstance(found, dict):
        raise UserError(f"{path} must contain settings as NAME: VALUE lines")
    for name in found or {}:
        if not isinstance(name, str):
            raise UserError(f"{path}: setting '{str(name)[:40]}' is not a text name")
    return found or {}


def parse_yaml(text: str, name: str) -> Any:
    """Parse a YAML document of bounded depth and size, aliases expanded; errors show `name`."""
    try:
        loader = yaml.SafeLoader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            _check_size(node, name)
            found = loader.construct_document(node)
        finally:
            loader.dispose()
        check_document(found, name)
    except UserError:
        raise
    except yaml.YAMLError as error:
        raise UserError(f"{name} is not YAML: {_what(error)}") from error
    except RecursionError as error:
        raise UserError(f"{name} is nested more than {MOST_DEPTH} levels deep") from error
    except Exception as error:
        # PyYAML raises many kinds of error for a bad number, date or tag (`2024-13-40`, `!!int x`).
        raise UserError(f"{name} is not YAML: {reason(error)}") from error
    return found


def _check_size(root: yaml.Node, name: str) -> None:
    """Refuse a document that is deep, endless, or huge once its aliases are expanded."""
    sizes: dict[int, int] = {}  # of finished nodes, including all below
    open_nodes: set[int] = set()
    # An explicit stack, because a deep document would overflow the interpreter's.
    stack: list[tuple[yaml.Node, bool]] = [(root, False)]
    while stack:
        node, finished = stack.pop()
        below = _below(node)
        if finished:
            open_nodes.discard(id(node))
            sizes[id(node)] = 1 + sum(sizes[id(one)] for one in below)
            if sizes[id(node)] > _MOST_NODES:
                raise UserError(
                    f"{name} has more than {_MOST_NODES:,} values after expanding aliases"
                )
            continue
        if id(node) in sizes:
            continue
        scalar = isinstance(node, yaml.ScalarNode) and node.tag != "tag:yaml.org,2002:str"
        if scalar and len(node.value) > _LONGEST_NUMBER:
            raise UserError(f"{name} has a number or date of {len(node.value):,} characters")
        if id(node) in open_nodes:
            raise UserError(f"{name} has an alias that contains itself; write it out")
        open_nodes.add(id(node))
        if len(open_nodes) > MOST_DEPTH:
            raise UserError(f"{name} is nested more than {MOST_DEPTH} levels deep")
        stack.append((node, True))
        stack.extend((one, False) for one in below)


def _below(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [one for pair in node.value for one in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def _what(error: yaml.YAMLError) -> str:
    """The parser's message and position, without its excerpt of the line."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        return f"{error.problem} (line {mark.line + 1}, column {mark.column + 1})"
    return " ".join(str(error).split())

"""Reproductions: programs made of the very source that the scoreboard runs.

A reproduction needs the library, NumPy, pandas and scikit-learn. It has those functions of the
module of a library and of the contracts that take part, without their docstrings and annotations.
"""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

__all__ = ["reproduction"]

HERE = Path(__file__).parent
CONTRACTS = HERE / "_scoreboard_contracts.py"


class _Source:
    """What a module defines at its top, by name."""

    def __init__(self, path: Path) -> None:
        self.text = path.read_text(encoding="utf-8")
        self.nodes: dict[str, ast.stmt] = {}
        for node in ast.parse(self.text).body:
            for name in _defined(node):
                self.nodes[name] = node

    def entry(self, table: str, key: str) -> ast.expr:
        """The value of a key in a dictionary; the dictionary may be another name of one."""
        node = self.nodes[table]
        assert isinstance(node, ast.Assign | ast.AnnAssign)
        if isinstance(node.value, ast.Name):
            return self.entry(node.value.id, key)
        assert isinstance(node.value, ast.Dict)
        pairs = zip(node.value.keys, node.value.values, strict=True)
        return next(value for name, value in pairs if ast.literal_eval(name or value) == key)

    def needed(self, names: Iterable[str]) -> list[ast.stmt]:
        """What these names need, in the order of the file."""
        found: set[str] = set()
        waiting = [name for name in names if name in self.nodes]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += [one for one in _used(self.nodes[name]) if one in self.nodes]
        lines = {self.nodes[name].lineno: self.nodes[name] for name in found}
        kept = [lines[number] for number in sorted(lines)]
        return [_only(node, found) for node in kept]

    def written(self, node: ast.stmt) -> str:
        """As text: assignments as they stand, all else without words and types."""
        if isinstance(node, ast.Assign):
            return ast.get_source_segment(self.text, node) or ""
        return ast.unparse(_Bare().visit(node))


class _Bare(ast.NodeTransformer):
    """Without docstrings and annotations."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        node.returns = None
        for argument in node.args.args:
            argument.annotation = None
        node.body = _without_docstring(node)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        self.generic_visit(node)
        node.body = _without_docstring(node)
        return node


def _without_docstring(node: ast.FunctionDef | ast.ClassDef) -> list[ast.stmt]:
    if ast.get_docstring(node) is None:
        return node.body
    return node.body[1:] or [ast.Pass()]


def _defined(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from (alias.asname or alias.name for alias in names)
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            yield name


def _used(node: ast.AST) -> set[str]:
    bare = _Bare().visit(ast.parse(ast.unparse(node)))
    return {one.id for one in ast.walk(bare) if isinstance(one, ast.Name)}


def _only(node: ast.stmt, names: set[str]) -> ast.stmt:
    """An import of those names only."""
    if isinstance(node, ast.ImportFrom):
        kept = [alias for alias in node.names if (alias.asname or alias.name) in names]
        return ast.ImportFrom(node.module, kept, node.level)
    return node


def reproduction(module: Path, calibrator: str, contract: str, n_classes: int) -> str:
    """The program that runs one contract with one calibrator.

    Parameters
    ----------
    module : Path
        The module of the library.
    calibrator : str
        A name in its `CALIBRATORS`.
    contract : str
        A name in `CONTRACTS`.
    n_classes : int
        The number of classes.

    Returns
    -------
    str
        Source of a program.
    """
    library, contracts = _Source(module), _Source(CONTRACTS)
    logits = contract == "logits"
    made = library.entry("LOGITS" if logits else "CALIBRATORS", calibrator)
    assert isinstance(made, ast.Lambda)
    called = {name: f"{name}_logits" if logits else name for name in ("fit", "predict")}
    called = {name: own if own in library.nodes else name for name, own in called.items()}
    law = ast.unparse(contracts.entry("CONTRACTS", contract))

    mine = library.needed([*called.values(), *_used(made)])
    theirs = contracts.needed([law])
    sources = [(library, node) for node in mine] + [(contracts, node) for node in theirs]
    imports = {s.written(n) for s, n in sources if isinstance(n, ast.Import | ast.ImportFrom)}
    parts = [s.written(n) for s, n in sources if not isinstance(n, ast.Import | ast.ImportFrom)]
    new = f"def new(classes):\n    return {ast.unparse(made.body)}"
    call = f"{law}(new, {called['fit']}, {called['predict']}, k={n_classes})"
    return "\n\n".join(["\n".join(sorted(imports)), *parts, new, call]) + "\n"

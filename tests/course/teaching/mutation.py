"""Near misses, made from a right answer: one operator, constant, name, condition or return value changed at a time.

The order is fixed: the same source gives the same mutants. Every ``while`` loop is given a limit, since many of the
changes would make it run for ever.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from typing import Any

MAX_TURNS = 5000

_OPERATORS: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div, ast.Add, ast.Pow),
    ast.Div: (ast.Mult, ast.Sub, ast.FloorDiv),
    ast.FloorDiv: (ast.Div, ast.Mult),
    ast.Pow: (ast.Mult,),
    ast.MatMult: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
}
_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
}
_FUNCTIONS = {
    "min": ("max",), "max": ("min",), "maximum": ("minimum", "add"), "minimum": ("maximum", "multiply"),
    "argmin": ("argmax",), "argmax": ("argmin",), "sum": ("mean", "max"), "mean": ("sum", "median"),
    "median": ("mean",), "max_": ("mean",), "sqrt": ("square", "abs"), "abs": ("negative",), "rint": ("floor", "ceil"),
    "zeros": ("ones",), "triu": ("tril",), "array_equal": ("allclose",), "any": ("all",), "all": ("any",),
    "len": ("sum",), "sorted": ("list",),
}  # fmt: skip
_COMMUTES = ("min", "max", "minimum", "maximum", "array_equal")
_RESULTS = (
    "{0} + 1", "{0} - 1", "-{0}", "2 * {0}", "{0} / 2", "not {0}", "None", "0", "1", "True", "False", "[{0}]",
    "str({0})", "list({0})", "np.asarray({0}).tolist()", "np.sort({0})", "{0}[::-1]", "{0}[:-1]",
    "np.round({0}, 2)", "np.asarray({0}) > 0", "np.asarray({0}, int)", "np.abs({0})",
)  # fmt: skip
"""What a function may return instead of its result; what is right for this type of result counts as equivalent."""


class _Change(ast.NodeTransformer):
    """Make the change of one number, counting through all that can be made."""

    def __init__(self, wanted: int, names: list[str]) -> None:
        self.wanted, self.names, self.count = wanted, names, -1
        self.line = 0

    def _due(self, node: ast.AST) -> bool:
        self.count += 1
        if self.count == self.wanted:
            self.line = getattr(node, "lineno", 0)
            return True
        return False

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        for other in _OPERATORS.get(type(node.op), ()):
            if self._due(node):
                return ast.BinOp(node.left, other(), node.right)
        if isinstance(node.op, (ast.Sub, ast.Div, ast.Pow)) and self._due(node):
            return ast.BinOp(node.right, node.op, node.left)
        for part in (node.left, node.right):
            if self._due(node):
                return part
        return self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        for other in _OPERATORS.get(type(node.op), ()):
            if self._due(node):
                return ast.AugAssign(node.target, other(), node.value)
        if self._due(node):
            return ast.Assign([node.target], node.value)
        return self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        if len(node.ops) == 1:
            for other in _COMPARISONS.get(type(node.ops[0]), ()):
                if self._due(node):
                    return ast.Compare(node.left, [other()], node.comparators)
        return self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        if self._due(node):
            return ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        for i in range(len(node.values)):
            if self._due(node):
                rest = [value for j, value in enumerate(node.values) if j != i]
                return rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
        return self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        return node.operand if self._due(node) else self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, bool):
            return ast.Constant(not node.value) if self._due(node) else node
        if isinstance(node.value, (int, float)):
            for other in (node.value + 1, node.value - 1, *([] if node.value in (0, 1) else [0])):
                if self._due(node):
                    return ast.copy_location(ast.Constant(other), node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if isinstance(node.ctx, ast.Load) and node.id in self.names:
            for other in self.names:
                if other != node.id and self._due(node):
                    return ast.copy_location(ast.Name(other, ast.Load()), node)
        if node.id in _FUNCTIONS and isinstance(node.ctx, ast.Load):
            for other in _FUNCTIONS[node.id]:
                if self._due(node):
                    return ast.copy_location(ast.Name(other, ast.Load()), node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        for other in _FUNCTIONS.get(node.attr, ()):
            if self._due(node):
                return ast.Attribute(node.value, other, node.ctx)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        for i in range(len(node.keywords)):
            if self._due(node):
                return ast.Call(node.func, node.args, [k for j, k in enumerate(node.keywords) if j != i])
        commutes = getattr(node.func, "attr", getattr(node.func, "id", "")) in _COMMUTES
        for i in range(0 if commutes else len(node.args) - 1):
            if self._due(node):
                swapped = [*node.args[:i], node.args[i + 1], node.args[i], *node.args[i + 2 :]]
                return ast.Call(node.func, swapped, node.keywords)
        if node.args and not isinstance(node.args[0], (ast.Starred, ast.GeneratorExp)) and self._due(node):
            return node.args[0]
        return self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        for part in (node.body, node.orelse):
            if self._due(node):
                return part
        return self.generic_visit(node)

    def visit_If(self, node: ast.If) -> ast.AST:
        for value in (True, False):
            if self._due(node):
                return ast.If(ast.Constant(value), node.body, node.orelse)
        return self.generic_visit(node)

    def visit_Slice(self, node: ast.Slice) -> ast.AST:
        for part in ("lower", "upper", "step"):
            if getattr(node, part) is not None and self._due(node):
                return ast.Slice(**{p: getattr(node, p) for p in ("lower", "upper", "step") if p != part})
        return self.generic_visit(node)

    def visit_Break(self, node: ast.Break) -> ast.AST:
        return ast.Pass() if self._due(node) else node

    def visit_Continue(self, node: ast.Continue) -> ast.AST:
        return ast.Pass() if self._due(node) else node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        subscripted = isinstance(node.targets[0], ast.Subscript)
        if subscripted and self._due(node):
            return ast.copy_location(ast.Pass(), node)
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        if isinstance(node.value, ast.Call) and self._due(node):
            return ast.copy_location(ast.Pass(), node)
        return self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> ast.AST:
        if node.value is not None:
            for pattern in _RESULTS:
                if self._due(node):
                    text = pattern.format(f"({ast.unparse(node.value)})")
                    return ast.Return(ast.parse(text, mode="eval").body)
        return self.generic_visit(node)


class _Limit(ast.NodeTransformer):
    """Count the turns of every while loop."""

    def visit_While(self, node: ast.While) -> ast.AST:
        self.generic_visit(node)
        node.body.insert(0, ast.parse("_turn()").body[0])
        return node


def mutants(source: str) -> Iterator[tuple[str, str]]:
    """Yield every near miss of a function's source: what was changed, and the whole source."""
    tree = ast.parse(source)
    function = tree.body[-1]
    assert isinstance(function, ast.FunctionDef)
    names = [argument.arg for argument in function.args.args]
    original = ast.unparse(tree).splitlines()
    seen = {ast.unparse(tree)}
    for number in range(10_000):
        change = _Change(number, names)
        changed_tree = copy.deepcopy(tree)
        changed_function = changed_tree.body[-1]
        assert isinstance(changed_function, ast.FunctionDef)
        changed_function.body = [change.visit(statement) for statement in changed_function.body]
        if change.count < number:
            return
        text = ast.unparse(ast.fix_missing_locations(changed_tree))
        if text in seen:
            continue
        seen.add(text)
        difference = [new for new, old in zip(text.splitlines(), original, strict=False) if new != old]
        yield (difference or ["a line left out"])[0].strip(), text


def compiled(source: str, name: str, surroundings: dict[str, Any]) -> Callable[..., Any]:
    """Return a function of that name from its source; its while loops end after ``MAX_TURNS`` turns."""
    turns = 0

    def turn() -> None:
        nonlocal turns
        turns += 1
        if turns > MAX_TURNS:
            raise RecursionError("it runs for ever")

    space = dict(surroundings) | {"_turn": turn}
    tree = ast.fix_missing_locations(_Limit().visit(ast.parse(source)))
    exec(compile(tree, f"<near miss of {name}>", "exec"), space)
    function = space[name]

    def run(*arguments: Any) -> Any:
        nonlocal turns
        turns = 0
        return function(*arguments)

    return run

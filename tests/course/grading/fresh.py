"""Makes fresh submissions: wrong ones by changing one thing in a solution, right ones by saying it in another way.

The changes are mechanical and know nothing of the checks. A changed solution that is still right is no wrong
submission: those that were found to be so are listed, with the reason.
"""

from __future__ import annotations

import ast
import copy
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from minispec.course.grading.manifest import load_assignment

NUM_WRONG = {"a1": 85, "a2": 60, "a3": 95, "a4": 80, "a6": 80}
"""As many as are drawn; some of them turn out to be right."""


@dataclass(frozen=True)
class Wrong:
    """One changed solution.

    Parameters
    ----------
    name : str
        Function, what was changed, and where.
    question : str
        Of the function; empty for helpers, whose question is any.
    source : str
    """

    name: str
    question: str
    source: str


SWAPPED: dict[type[ast.AST], list[type[ast.AST]]] = {
    ast.Add: [ast.Sub], ast.Sub: [ast.Add], ast.Mult: [ast.Add, ast.Div], ast.Div: [ast.Mult], ast.Pow: [ast.Mult],
    ast.MatMult: [], ast.Lt: [ast.LtE, ast.Gt], ast.LtE: [ast.Lt], ast.Gt: [ast.GtE, ast.Lt], ast.GtE: [ast.Gt],
    ast.Eq: [ast.NotEq], ast.NotEq: [ast.Eq], ast.Is: [ast.IsNot], ast.IsNot: [ast.Is], ast.In: [ast.NotIn],
}  # fmt: skip
RENAMED = {
    "min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "argmax": "argmin", "sum": "prod",
    "mean": "sum", "cumsum": "cumprod", "cumprod": "cumsum", "any": "all", "median": "max", "exp": "expm1",
    "startswith": "endswith", "endswith": "startswith", "tanh": "sin", "sqrt": "abs",
}  # fmt: skip


def changes(node: ast.AST) -> Iterator[tuple[str, Callable[[ast.AST], ast.AST]]]:
    """Yield what can be done to a node: a word, and a function that does it to a copy."""
    if isinstance(node, ast.BinOp):
        for other in SWAPPED.get(type(node.op), []):
            yield f"{type(node.op).__name__}-{other.__name__}", lambda n, other=other: _with(n, op=other())
        yield "left-only", lambda n: n.left
        yield "right-only", lambda n: n.right
    if isinstance(node, ast.Compare):
        for other in SWAPPED.get(type(node.ops[0]), []):
            yield f"{type(node.ops[0]).__name__}-{other.__name__}", lambda n, other=other: _with(n, ops=[other()])
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
        yield "plus-one", lambda n: _with(n, value=n.value + 1)
        if node.value not in (0, 1):
            yield "minus-one", lambda n: _with(n, value=n.value - 1)
    if isinstance(node, ast.IfExp):
        yield "always", lambda n: n.body
        yield "never", lambda n: n.orelse
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in RENAMED:
        yield f"{node.id}-{RENAMED[node.id]}", lambda n: _with(n, id=RENAMED[n.id])
    if isinstance(node, ast.Attribute) and node.attr in RENAMED:
        yield f"{node.attr}-{RENAMED[node.attr]}", lambda n: _with(n, attr=RENAMED[n.attr])
    if isinstance(node, ast.Call) and len(node.args) == 2:
        yield "arguments-swapped", lambda n: _with(n, args=n.args[::-1])
    if isinstance(node, ast.If):
        yield "condition-gone", lambda n: _with(n, test=ast.Constant(False))
        yield "condition-always", lambda n: _with(n, test=ast.Constant(True))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        yield "unary-gone", lambda n: n.operand
    if isinstance(node, ast.Slice) and node.upper is not None and node.lower is not None:
        yield "slice-from-start", lambda n: _with(n, lower=None)
    if isinstance(node, ast.AugAssign):
        yield "assigned", lambda n: ast.Assign([n.target], n.value)


def _with(node: ast.AST, **fields: object) -> ast.AST:
    for name, value in fields.items():
        setattr(node, name, value)
    return node


class _ChangeAt(ast.NodeTransformer):
    def __init__(self, number: int, change: Callable[[ast.AST], ast.AST]) -> None:
        self._left = number
        self._change = change

    def visit(self, node: ast.AST) -> ast.AST:
        self._left -= 1
        return self._change(node) if self._left == -1 else self.generic_visit(node)


def all_wrong(name: str) -> list[Wrong]:
    """Return every single change to every function of a solution."""
    solution = load_assignment(name).solution
    tree = ast.parse(solution)
    found = []
    for function in (node for node in tree.body if isinstance(node, ast.FunctionDef)):
        told = re.match(r"Q(\d+)", ast.get_docstring(function) or "")
        question = f"{name}.q{told[1]}" if told else ""
        for number, node in enumerate(_preorder(function)):
            for word, change in changes(node):
                changed = ast.fix_missing_locations(_ChangeAt(number, change).visit(copy.deepcopy(function)))
                code = ast.unparse(changed)
                if code != ast.unparse(function):
                    where = f"{function.name}-{word}-{number}"
                    found.append(Wrong(where, question, f"{solution}\n\n{code}\n"))
    return found


def _preorder(node: ast.AST) -> Iterator[ast.AST]:
    """Walk in the transformer's order."""
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _preorder(child)


_ALIKE = "which of two comes first makes no difference"
STILL_RIGHT: dict[str, dict[str, str]] = {
    "a1": {
        "attention_block-unary-gone-103": "of two axes the last is axis 1",
        "attention_block-plus-one-90": "any negative size is the one NumPy finds out",
        "layer_norm-unary-gone-16": "of two axes the last is axis 1",
        "layer_norm-unary-gone-37": "of two axes the last is axis 1",
        "rollback-arguments-swapped-12": _ALIKE,
    },
    "a2": {
        "residual-arguments-swapped-9": _ALIKE,
        "sample-plus-one-13": "any of the uniforms will do",
        "speculative-arguments-swapped-56": _ALIKE,
        "verify-arguments-swapped-28": _ALIKE,
        "verify-plus-one-31": "what is above 1 is certain, as 1 is",
    },
    "a3": {
        "acceptance_probability-arguments-swapped-12": _ALIKE,
        "break_even_alpha-plus-one-45": "a wider interval, bisected as finely",
        "break_even_alpha-minus-one-53": "a step less of bisection",
        "break_even_alpha-plus-one-53": "a step more of bisection",
        "expected_steps-plus-one-34": "a value more, which nobody asks for",
        "roofline_time-arguments-swapped-9": _ALIKE,
        "roofline_verify_cost-arguments-swapped-27": _ALIKE,
        "roofline_verify_cost-arguments-swapped-40": _ALIKE,
        "expected_steps-arguments-swapped-59": _ALIKE,
    },
    "a4": {
        "cut-plus-one-20": "an end behind the text, where there is nothing more",
        "metrics-arguments-swapped-9": _ALIKE,
        "metrics-plus-one-46": "no step emits more than its accepted drafts and one",
        "retracted-arguments-swapped-32": _ALIKE,
        **{f"num_drafts-arguments-swapped-{number}": _ALIKE for number in (13, 28, 32)},
    },
    "a6": {"rows-arguments-swapped-144": _ALIKE},
}
"""Changes that leave a solution right, by assignment and name, each with the reason."""


def wrong_ones(name: str) -> list[Wrong]:
    """Return a fixed draw of changes that make a solution wrong."""
    made = all_wrong(name)
    random.Random(16).shuffle(made)
    return [one for one in made[: NUM_WRONG[name]] if one.name not in STILL_RIGHT[name]]


# Right ones.


def wrapped(convert: str, *, only: str = ".*") -> Callable[[str], str]:
    """Return what makes every function give its results in another form."""

    def transform(source: str) -> str:
        return _around(source, f"{convert}\n    return x", "f(*args, **kwargs)", "_other({})", only)

    return transform


def _around(source: str, body: str, call: str, result: str, only: str) -> str:
    """Return a module whose functions are wrapped, while those inside go on calling each other as they were."""
    names = dict.fromkeys(node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef))
    bound = [f"{name} = _wrap(_inner[{name!r}])" for name in names if re.fullmatch(only, name)]
    bound += [f"{name} = _inner[{name!r}]" for name in names if not re.fullmatch(only, name)]
    head = (
        "import collections as _c\nimport copy as _y\nimport decimal as _d\nimport fractions as _q\n"
        "import types as _t\nimport numpy as _np\n\n"
        f"_inner = {{'__name__': 'inner'}}\nexec({source!r}, _inner)\n\n\n"
        f"def _other(x):\n    {body}\n\n\n"
        f"def _wrap(f):\n    return lambda *args, **kwargs: {result.format(call)}\n\n\n"
    )
    return head + "\n".join(bound) + "\n"


def scalars(form: str) -> str:
    """Return the body of a conversion of floats, also inside of tuples and dictionaries."""
    return (
        f"if type(x) is float: return {form}\n"
        "    if type(x) is tuple: return tuple(map(_other, x))\n"
        "    if type(x) is dict: return {key: _other(value) for key, value in x.items()}"
    )


def renamed(source: str) -> str:
    """Give every local name another one."""
    tree = ast.parse(source)
    for function in (node for node in tree.body if isinstance(node, ast.FunctionDef)):
        inner = [node for node in ast.walk(function) if isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ClassDef))]
        if len(inner) > 1 or any(isinstance(node, (ast.Global, ast.Nonlocal)) for node in ast.walk(function)):
            continue
        stored = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        stored -= {argument.arg for argument in ast.walk(function) if isinstance(argument, ast.arg)}
        for node in ast.walk(function):
            if isinstance(node, ast.Name) and node.id in stored:
                node.id = f"my_{node.id}_"
    return ast.unparse(tree)


def in_a_class(source: str) -> str:
    """Keep the functions in a class, and bind their names afterwards."""
    names = list(dict.fromkeys(node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)))
    lines = "\n".join(f"    {name} = staticmethod({name})" for name in names)
    bound = "\n".join(f"{name} = Answers.{name}" for name in names)
    return f"{source}\n\nclass Answers:\n{lines}\n\n\n{bound}\n"


def printing(source: str) -> str:
    """Print on the way, as one who looks for a mistake does."""
    tree = ast.parse(source)
    for function in (node for node in tree.body if isinstance(node, ast.FunctionDef)):
        function.body.insert(1, ast.parse(f"print('in {function.name}', flush=True)").body[0])
    return ast.unparse(ast.fix_missing_locations(tree))


def annotated(source: str) -> str:
    """With annotations that name what is nowhere imported: they are never looked up."""
    tree = ast.parse(source)
    for function in (node for node in tree.body if isinstance(node, ast.FunctionDef)):
        for argument in function.args.args:
            argument.annotation = ast.Name("npt_NDArray")
    return "from __future__ import annotations\n" + ast.unparse(ast.fix_missing_locations(tree))


def without_future(source: str) -> str:
    """With annotations that are looked up when the function is made."""
    return source + (
        "\n\nfrom dataclasses import dataclass, fields\n\n\n@dataclass\nclass Kept:\n    length: int = 0\n\n\n"
        "assert fields(Kept)[0].type is int\n"
    )


def copying(source: str) -> str:
    """Copy every argument first."""
    own = "return _y.deepcopy(x) if isinstance(x, (list, _np.ndarray, str, bytes, tuple)) else x"
    return _around(source, own, "f(*map(_other, args), **kwargs)", "{}", ".*")


RIGHT: dict[str, Callable[[str], str]] = {
    "as it is": lambda source: source,
    "renamed": renamed,
    "in a class": in_a_class,
    "printing": printing,
    "annotated": annotated,
    "without future": without_future,
    "copying": copying,
    "tuples": wrapped("if type(x) is list: return tuple(x)"),
    "lists": wrapped("if isinstance(x, _np.ndarray) and x.dtype.kind == 'f': return x.tolist()", only="(?!new_|_).*"),
    "int64": wrapped("if type(x) is int: return _np.int64(x)"),
    "bool_": wrapped("if type(x) is bool: return _np.bool_(x)"),
    "int for bool": wrapped("if type(x) is bool: return int(x)"),
    "array of floats": wrapped("if type(x) is tuple: return _np.array(x, float)", only="forward_costs"),
    "float64": wrapped(scalars("_np.float64(x)")),
    "longdouble": wrapped(scalars("_np.longdouble(x)")),
    "decimal": wrapped(scalars("_d.Decimal(x)")),
    "fraction": wrapped(scalars("_q.Fraction(x)")),
    "mapping": wrapped("if type(x) is dict: return _t.MappingProxyType(x)", only="metrics"),
    "ordered": wrapped("if type(x) is dict: return _c.OrderedDict(x)", only="metrics"),
    "fortran": wrapped("if isinstance(x, _np.ndarray): return _np.asfortranarray(x)"),
    "big endian": wrapped("if isinstance(x, _np.ndarray): return x.astype(x.dtype.newbyteorder('>'))"),
}
"""Other forms of a right answer."""


def right_ones(name: str) -> Iterator[tuple[str, str]]:
    """Yield name and source: our solution and every other right one, each in several forms."""
    assignment = load_assignment(name)
    bases = {"solution": assignment.solution, **{one.name: one.source for one in assignment.overlays("correct")}}
    for i, (base, source) in enumerate(bases.items()):
        forms = list(RIGHT) if base == "solution" else list(RIGHT)[1 + i % 3 :: 3]
        for form in forms:
            yield f"{base}, {form}", RIGHT[form](source)

"""Assertions of a script, in the part of Python that scripts use.

The text is parsed and evaluated here; Python never runs it.
"""

import ast
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from switchbed.drill.script import BadScriptError, DepartsError, SkippedError

STATES = ("Open", "Disorder", "CWR", "Recovery", "Loss")
CONSTANTS: dict[str, Any] = {
    **{f"TCP_CA_{name}": number for number, name in enumerate(STATES)},
    "TCPI_OPT_TIMESTAMPS": 1,
    "TCPI_OPT_SACK": 2,
    "TCPI_OPT_WSCALE": 4,
    "TCPI_OPT_ECN": 8,
    "TCPI_OPT_ECN_SEEN": 16,
    "TCPI_OPT_SYN_DATA": 32,
    "TCP_ESTABLISHED": 1,
    "TCP_SYN_SENT": 2,
    "TCP_SYN_RECV": 3,
    "TCP_FIN_WAIT1": 4,
    "TCP_FIN_WAIT2": 5,
    "TCP_TIME_WAIT": 6,
    "TCP_CLOSE": 7,
    "TCP_CLOSE_WAIT": 8,
    "TCP_LAST_ACK": 9,
    "TCP_LISTEN": 10,
    "TCP_CLOSING": 11,
    "TCP_INFINITE_SSTHRESH": 0x7FFFFFFF,
    "True": True,
    "False": False,
    "None": None,
}
BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.RShift: operator.rshift,
    ast.LShift: operator.lshift,
}
UNARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.USub: lambda _, b: -b,
    ast.UAdd: lambda _, b: +b,
    ast.Invert: lambda _, b: ~b,
}
COMPARED: dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
    # Identity of small numbers is an accident of CPython: scripts mean equality.
    ast.Is: operator.eq,
    ast.IsNot: operator.ne,
}
CALLED: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "min": min,
    "max": max,
    "int": int,
    "float": float,
    "round": round,
    "str": str,
    "bool": bool,
}
LONGEST = 20_000
"""Characters of text, and the largest number of digits, that a value may have."""
MOST_LINES = 1000
MOST_SHIFT = 64
# A format such as `%9999d` or `%*d` makes text of any length from a few characters.
WIDE = re.compile(r"%[^%a-z]*(?:[0-9]{4}|\*)")
# Some published scripts have Python 2's print statement.
OLD_PRINT = re.compile(r"^(\s*)print +(?!\()(.*)$", re.M)


class Asserts:
    """The variables of a script's code, and what it printed."""

    def __init__(self) -> None:
        self.variables: dict[str, Any] = {}
        self.printed: list[str] = []

    def run(self, text: str, line: int, info: Mapping[str, Any]) -> None:
        """Evaluates a block of code at `line`, with `tcp_info`'s fields."""
        tree, line = _parsed(text, line)
        try:
            for statement in tree.body:
                _Block(self, line + statement.lineno - 1, info).do(statement)
        except RecursionError:
            raise BadScriptError(line, "the code is nested too deep") from None


class _Block:
    """A statement that is evaluated."""

    def __init__(self, of: Asserts, line: int, info: Mapping[str, Any]) -> None:
        self.of, self.line, self.info = of, line, info

    def do(self, node: ast.stmt) -> None:
        """Carries out a statement."""
        match node:
            case ast.Assert():
                self._assert(node)
            case ast.Assign(targets=[ast.Name(id=name)]):
                self.of.variables[name] = self.value(node.value)
            case ast.AugAssign(target=ast.Name(id=name)):
                # `a += b` is evaluated as `a + b`, under the same bounds.
                whole = ast.BinOp(ast.Name(name), node.op, node.value)
                self.of.variables[name] = self.value(whole)
            case ast.Expr(value=ast.Call(func=ast.Name(id="print"), args=args, keywords=[])):
                self._print(" ".join(str(self.value(part)) for part in args))
            case ast.Expr():
                self.value(node.value)
            case ast.If():
                for part in node.body if self.value(node.test) else node.orelse:
                    self.do(part)
            # Scripts import modules that only Python itself would need; calls of them are skipped
            # by name.
            case ast.Pass() | ast.Import() | ast.ImportFrom():
                pass
            case _:
                raise SkippedError(self.line, f"Python's {type(node).__name__.lower()} in code")

    def _print(self, text: str) -> None:
        if len(self.of.printed) < MOST_LINES:
            self.of.printed.append(text[:LONGEST])

    def _assert(self, node: ast.Assert) -> None:
        if self.value(node.test):
            return
        # The fields that the assertion names are shown with their values; its message only if there
        # are none.
        names = (part.id for part in ast.walk(node.test) if isinstance(part, ast.Name))
        known = [name for name in dict.fromkeys(names) if name in self.info]
        got = ", ".join(f"{name} = {self.info[name]}" for name in known)
        if not got and node.msg is not None:
            got = str(self.value(node.msg))
        raise DepartsError(self.line, "an assertion does not hold", ast.unparse(node.test), got)

    def value(self, node: ast.expr) -> Any:
        """An expression's value."""
        # Node types without a method are refused, so no part of Python is evaluated by accident.
        handler = getattr(self, f"_{type(node).__name__.lower()}", None)
        if handler is None:
            raise SkippedError(self.line, f"Python's {type(node).__name__.lower()} in code")
        return handler(node)

    def _constant(self, node: ast.Constant) -> Any:
        return node.value

    def _name(self, node: ast.Name) -> Any:
        # A script's own variable hides a field of the same name.
        for names in (self.of.variables, self.info, CONSTANTS):
            if node.id in names:
                return names[node.id]
        if node.id.startswith("tcpi_"):
            raise SkippedError(self.line, f"{node.id} of tcp_info")
        if node.id.startswith("SK_MEMINFO_"):
            raise SkippedError(self.line, f"{node.id} of a socket's memory")
        raise BadScriptError(self.line, f"{node.id} has no value")

    def _boolop(self, node: ast.BoolOp) -> Any:
        value: Any = None
        for part in node.values:
            value = self.value(part)
            # `or` stops at the first true value and `and` at the first false one; both return that
            # value.
            if bool(value) is isinstance(node.op, ast.Or):
                break
        return value

    def _unaryop(self, node: ast.UnaryOp) -> Any:
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return not value
        return self._apply(UNARY[type(node.op)], 0, value)

    def _binop(self, node: ast.BinOp) -> Any:
        if type(node.op) not in BINARY:
            raise SkippedError(self.line, f"Python's {type(node.op).__name__.lower()} in code")
        return self._apply(BINARY[type(node.op)], self.value(node.left), self.value(node.right))

    def _compare(self, node: ast.Compare) -> bool:
        left = self.value(node.left)
        for op, part in zip(node.ops, node.comparators, strict=True):
            right = self.value(part)
            if not self._apply(COMPARED[type(op)], left, right):
                return False
            # A chain `a < b < c` compares neighbours and evaluates each operand once.
            left = right
        return True

    def _ifexp(self, node: ast.IfExp) -> Any:
        return self.value(node.body if self.value(node.test) else node.orelse)

    def _tuple(self, node: ast.Tuple | ast.List) -> Any:
        return tuple(self.value(part) for part in node.elts)

    _list = _tuple

    def _call(self, node: ast.Call) -> Any:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name not in CALLED or node.keywords:
            raise SkippedError(self.line, f"calls of {name or 'methods'} in code")
        values = [self.value(part) for part in node.args]
        return self._guarded(lambda: CALLED[name](*values))

    def _apply(self, op: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
        sized = any(isinstance(part, str | tuple) for part in (left, right))
        if op is operator.mul and sized:
            raise BadScriptError(self.line, "text is not multiplied in code")
        if op is operator.lshift and not (isinstance(right, int) and right <= MOST_SHIFT):
            raise BadScriptError(self.line, f"a shift is {MOST_SHIFT} at most")
        if op is operator.mod and isinstance(left, str | bytes) and WIDE.search(str(left)):
            raise BadScriptError(self.line, "a field of a text is too wide")
        return self._guarded(lambda: op(left, right))

    def _guarded(self, work: Callable[[], Any]) -> Any:
        try:
            value = work()
            # Products of products grow without end in a few lines of a script.
            if isinstance(value, int) and value.bit_length() > LONGEST:
                raise ValueError("a number is too large")
            if isinstance(value, str) and len(value) > LONGEST:
                raise ValueError("a text is too long")
        except (TypeError, ValueError, ArithmeticError, AttributeError) as error:
            raise BadScriptError(self.line, f"code: {error}") from None
        return value


def _parsed(text: str, line: int) -> tuple[ast.Module, int]:
    """The code's statements, and the line of the first."""
    body = text.lstrip("\n \t\r")
    # Line numbers in messages are those of the script, so lines stripped in front count.
    line += text[: len(text) - len(body)].count("\n")
    body = OLD_PRINT.sub(r"\1print(\2)", body.rstrip("\\ \n\t\r;"))
    try:
        return ast.parse(body), line
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        at = line + (getattr(error, "lineno", None) or 1) - 1
        raise BadScriptError(
            at, f"the code is no Python: {getattr(error, 'msg', None) or error}"
        ) from None

"""Assertions of a script, in the part of Python that scripts use. The text is parsed and evaluated here; it is
never run by Python."""

import ast
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from switchbed.drill.outcome import Bad, Departs, Skip

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
OLD_PRINT = re.compile(r"^(\s*)print +(?!\()(.*)$", re.M)


class Asserts:
    """The variables of a script's code, and what it printed."""

    def __init__(self) -> None:
        self.variables: dict[str, Any] = {}
        self.printed: list[str] = []

    def run(self, text: str, line: int, info: Mapping[str, Any]) -> None:
        """Evaluates a block of code at `line`, with `tcp_info`'s fields."""
        tree, line = _parsed(text, line)
        for statement in tree.body:
            self._statement(statement, line, info)

    def _statement(self, node: ast.stmt, line: int, info: Mapping[str, Any]) -> None:
        here = line + node.lineno - 1
        evaluate = lambda part: self._value(part, here, info)  # noqa: E731
        match node:
            case ast.Assert():
                if not evaluate(node.test):
                    message = "" if node.msg is None else str(evaluate(node.msg))
                    got = ", ".join(
                        f"{name} = {info[name]}"
                        for name in dict.fromkeys(
                            part.id for part in ast.walk(node.test) if isinstance(part, ast.Name)
                        )
                        if name in info
                    )
                    raise Departs(
                        here, "an assertion does not hold", ast.unparse(node.test), got or message
                    )
            case ast.Assign(targets=[ast.Name(id=name)]):
                self.variables[name] = evaluate(node.value)
            case ast.Expr(value=ast.Call(func=ast.Name(id="print"), args=args, keywords=[])):
                self.printed.append(" ".join(str(evaluate(part)) for part in args))
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case ast.Expr():
                evaluate(node.value)
            case ast.If():
                for part in node.body if evaluate(node.test) else node.orelse:
                    self._statement(part, line, info)
            case ast.Import() | ast.ImportFrom():
                pass
            case _:
                raise Skip(here, f"Python's {type(node).__name__.lower()} in code")

    def _value(self, node: ast.expr, line: int, info: Mapping[str, Any]) -> Any:
        evaluate = lambda part: self._value(part, line, info)  # noqa: E731
        match node:
            case ast.Constant():
                return node.value
            case ast.Name(id=name):
                for names in (self.variables, info, CONSTANTS):
                    if name in names:
                        return names[name]
                if name.startswith("tcpi_"):
                    raise Skip(line, f"tcp_info's {name}")
                raise Bad(line, f"{name} has no value")
            case ast.BoolOp():
                value: Any = None
                for part in node.values:
                    value = evaluate(part)
                    if bool(value) is isinstance(node.op, ast.Or):
                        break
                return value
            case ast.UnaryOp(op=ast.Not()):
                return not evaluate(node.operand)
            case ast.UnaryOp(op=ast.USub()):
                return self._apply(lambda _, b: -b, 0, evaluate(node.operand), line)
            case ast.BinOp() if type(node.op) in BINARY:
                left, right = evaluate(node.left), evaluate(node.right)
                return self._apply(BINARY[type(node.op)], left, right, line)
            case ast.BinOp(op=ast.LShift()):
                left, right = evaluate(node.left), evaluate(node.right)
                if not isinstance(right, int) or right > 64:
                    raise Bad(line, "a shift is 64 at most")
                return self._apply(operator.lshift, left, right, line)
            case ast.Compare():
                left = evaluate(node.left)
                for op, part in zip(node.ops, node.comparators, strict=True):
                    right = evaluate(part)
                    if not self._apply(COMPARED[type(op)], left, right, line):
                        return False
                    left = right
                return True
            case ast.IfExp():
                return evaluate(node.body if evaluate(node.test) else node.orelse)
            case ast.Tuple() | ast.List():
                return tuple(evaluate(part) for part in node.elts)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in CALLED:
                values = [evaluate(part) for part in args]
                try:
                    return _small(CALLED[name](*values))
                except (TypeError, ValueError, ArithmeticError) as error:
                    raise Bad(line, f"{name}: {error}") from None
            case _:
                raise Skip(line, f"Python's {type(node).__name__.lower()} in code")

    @staticmethod
    def _apply(op: Callable[[Any, Any], Any], left: Any, right: Any, line: int) -> Any:
        sized = any(isinstance(part, str | tuple) for part in (left, right))
        if op is operator.mul and sized:
            raise Bad(line, "text is not multiplied in code")
        if op is operator.mod and isinstance(left, str) and re.search(r"%[^%a-z]*[0-9*]{4}", left):
            raise Bad(line, "a field of a text is too wide")
        try:
            return _small(op(left, right))
        except (TypeError, ValueError, ArithmeticError) as error:
            raise Bad(line, str(error)) from None


def _small(value: Any) -> Any:
    if isinstance(value, int) and value.bit_length() > LONGEST:
        raise ValueError("a number is too large")
    if isinstance(value, str) and len(value) > LONGEST:
        raise ValueError("a text is too long")
    return value


def _parsed(text: str, line: int) -> tuple[ast.Module, int]:
    """The code's statements, and the line of the first."""
    body = text.lstrip("\n \t\r")
    line += text[: len(text) - len(body)].count("\n")
    body = OLD_PRINT.sub(r"\1print(\2)", body.rstrip("\\ \n\t\r;"))
    try:
        return ast.parse(body), line
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        at = line + (getattr(error, "lineno", None) or 1) - 1
        raise Bad(at, f"the code is no Python: {getattr(error, 'msg', None) or error}") from None

"""How a script may end."""


class BadScriptError(Exception):
    """The script is wrong; `line` is the script's."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


class SkippedError(Exception):
    """The script asks for something that the model has not."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(what)
        self.line = line


class DepartsError(Exception):
    """The model does something else than the script expects."""

    def __init__(self, line: int, problem: str, expected: str = "", got: str = "") -> None:
        super().__init__(problem)
        self.line = line
        self.expected = expected
        self.got = got

"""Exit codes, and the line on standard error where a command failed."""

import errno
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import click

from switchbed import files, signals, terminal
from switchbed._native import Mistake, Panic
from switchbed.terminal import say

BAD_INPUT = 2
"""Exit code of what is wrong with the words or files that were given."""
LONG_WORD = re.compile(r"\S{300,}")
SHOWN = 120
"""Characters of such a word in a message."""
LONGEST = 2000
"""Characters of a message."""


def finish(work: Callable[[], object]) -> NoReturn:
    """Exits with the code that the work returns. Bad input gets a line for each mistake and exit
    code 2, never a traceback."""
    status: object
    try:
        try:
            status = work()
        finally:
            signals.over()
    except click.exceptions.NoArgsIsHelpError as error:
        terminal.page(f"{error.format_message()}\n", err=True)
        status = BAD_INPUT
    except click.UsageError as error:
        status = complain(_usage(error))
    except (Mistake, click.ClickException) as error:
        status = complain(str(error) if isinstance(error, Mistake) else error.format_message())
    except ExceptionGroup as several:
        for each in several.exceptions:
            status = complain(str(each))
    except (KeyboardInterrupt, click.Abort) as error:
        complain("interrupted")
        status = signals.code(error.__cause__ if isinstance(error, click.Abort) else error)
    except BrokenPipeError:
        # The reader has read enough; the interpreter's last flush must not complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    except OSError as error:
        status = complain(_system(error))
    except UnicodeEncodeError as error:  # of a word that was given
        status = complain(f"{error.object}: is no UTF-8 text")
    except Panic as error:
        status = _internal(error)
    except Exception as error:
        status = _internal(error, f"{type(error).__name__}: ", f" ({_where(error)})")
    signals.leave(status if isinstance(status, int) else 0)


def _system(error: OSError) -> str:
    """An error of the system: what it was about, or else what was being done."""
    advice = (
        "; it needs rights that this user lacks: run it with sudo"
        if (error.errno == errno.EPERM)
        else ""
    )
    about = f"{error.filename}" if error.filename else f"{_doing(error)} ({_where(error)})"
    return f"{about}: {files.why(error)}{advice}"


def _doing(error: BaseException) -> str:
    """Name of the function of switchbed that raised it."""
    import traceback

    ours = Path(__file__).parent
    frames = traceback.extract_tb(error.__traceback__)
    names = [frame.name for frame in frames if Path(frame.filename).is_relative_to(ours)]
    return names[-1].strip("_").replace("_", " ") if names else "switchbed"


def _internal(error: BaseException, kind: str = "", where: str = "") -> int:
    complain(f"internal error, please report it: {kind}{error}{where}")
    return 1


def _where(error: BaseException) -> str:
    """The last line of ours that it came through."""
    import traceback

    ours = Path(__file__).parent
    places = [(Path(f.filename), f.lineno) for f in traceback.extract_tb(error.__traceback__)]
    return [f"{p.relative_to(ours)}:{n}" for p, n in places if p.is_relative_to(ours)][-1]


def _usage(error: click.UsageError) -> str:
    command = error.ctx.command_path if error.ctx else "switchbed"
    if isinstance(error, click.NoSuchOption) and error.ctx:
        having = _with(error.option_name, error.ctx.find_root().command)
        others = [name for name in having if f"switchbed {name}" != command]
        if 0 < len(others) <= FEW:
            *first, last = [f"switchbed {name}" for name in others]
            have = f"{', '.join(first)} and {last} have" if first else f"{last} has"
            which = f"{have} it"
            return f"{command} has no option {error.option_name}: {which}"
    said = error.format_message().rstrip(".")
    if error.ctx and isinstance(group := error.ctx.command, click.Group):
        names = group.list_commands(error.ctx)
        if said.startswith("No such command") and "Did you mean" not in said and len(names) <= MOST:
            said += f": {command} has {', '.join(names)}"
    return f"{said}; see {command} --help"


FEW = 3
"""Commands that are named for an option that another lacks."""
MOST = 12
"""Commands of a group that a message names."""


def _with(option: str, program: click.Command) -> list[str]:
    """Names of the program's commands that have an option."""
    if not isinstance(program, click.Group):
        return []
    return [
        name
        for name, command in program.commands.items()
        if any(option in each.opts for each in command.params)
    ]


def complain(text: str) -> int:
    """One line on standard error, whatever the text holds."""
    say(f"switchbed: {_cut(' '.join(text.split()))}", err=True)
    return BAD_INPUT


def _cut(text: str) -> str:
    """The text without the middle of words that are longer than any path."""
    text = LONG_WORD.sub(lambda word: f"{word[0][:SHOWN]}… ({len(word[0])} characters)", text)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text)} characters)"

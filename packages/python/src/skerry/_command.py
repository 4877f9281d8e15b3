"""Commands as a line for the shell, or as a program and its arguments, in which the shell reads nothing."""

import shlex
from typing import Sequence, Union

Command = Union[str, Sequence[str]]


def command_line(command: Command) -> str:
    return command if isinstance(command, str) else shlex.join(command)

"""Bash: an interactive shell that reads cells from a pipe, because only an interactive one goes on after an interrupt."""

import os
import re
import shlex

from .pipe_kernel import PipeKernel

# There is no terminal, so it shows no prompts, and `!` is a character as in scripts.
PREPARE = "PS1= PS2=; set +o history +o histexpand"
NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")


class BashKernel(PipeKernel):
    def __init__(self, cwd, env):
        super().__init__(cwd, env)
        self._end = None

    def argv(self, requests_fd, messages_fd):
        # A line of its own, which runs also where the one before was interrupted. It is one simple command, because after some syntax errors
        # the parser does not know reserved words in the next line.
        self._end = f"""printf '{{"type":"status","status":%d}}\\n{{"type":"end"}}\\n' $? >&{messages_fd}"""
        shell = "bash --noprofile --norc --noediting -i"
        return ["bash", "-c", f"exec {shell} <&{requests_fd} {requests_fd}<&-"]

    def cell_request(self, code):
        return self._lines(f"eval {shlex.quote(code)} </dev/null")

    def first_request(self):
        return self._lines(PREPARE)

    def environment_request(self, changes):
        # The shell has variables of valid names only.
        valid = {name: value for name, value in changes.items() if NAME.fullmatch(name)}
        commands = [
            f"unset {name}" if value is None else f"export {name}={shlex.quote(value)}" for name, value in valid.items()
        ]
        return self._lines("; ".join([*commands, ":"]))

    async def reseed(self):
        seed = int.from_bytes(os.urandom(4), "little")
        await self._ask_quietly(self._lines(f"RANDOM={seed}"))

    def _lines(self, command):
        return f"{command}\n{self._end}\n".encode()

"""JavaScript and TypeScript: the program in `javascript/`."""

import json
import os

from .pipe_kernel import PipeKernel

PROGRAM = os.path.join(os.path.dirname(__file__), "javascript", "kernel.js")


class JavaScriptKernel(PipeKernel):
    # Cryptographic random numbers of a node process come from a state that nothing renews in a clone.
    may_be_frozen = False
    language = "javascript"

    def argv(self, requests_fd, messages_fd):
        return ["node", "--experimental-import-meta-resolve", PROGRAM, str(requests_fd), str(messages_fd), self.language]

    def cell_request(self, code):
        return line_of({"code": code})

    def environment_request(self, changes):
        return line_of({"environment": changes})

    async def reseed(self):
        await self._ask_quietly(line_of({"reseed": True}))


class TypeScriptKernel(JavaScriptKernel):
    language = "typescript"


def line_of(request):
    return json.dumps(request).encode() + b"\n"

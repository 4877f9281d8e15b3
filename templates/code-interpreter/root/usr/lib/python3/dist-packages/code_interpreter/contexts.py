"""Contexts: where code runs that shares its variables. Each has a kernel, and its cells run one after the other."""

import asyncio
import os
import uuid

import tornado.web

from .account import base_environment
from .environment import machine_id, sandbox_environment
from .kernel import KernelDied
from .languages import KERNELS, STARTED, language_of
from .output import OutputTooLarge
from .results import END, error_event

CONTEXTS_MAX = 100
DEFAULT_CWD = "/home/user"


class Refusal(tornado.web.HTTPError):
    """A request that is answered with this status, and with why."""

    def __init__(self, status, message):
        super().__init__(status)
        self.message = message


def known_language(asked):
    language = language_of(asked)
    if language is None:
        raise Refusal(400, f"There is no kernel for {asked[:40]!r} here. There is one for {', '.join(KERNELS)}.")
    return language


class Context:
    def __init__(self, language, cwd):
        self.id = str(uuid.uuid4())
        self.language, self.cwd = language, cwd
        self.is_removed = False
        self._turn = asyncio.Lock()
        self._kernel = None
        self._machine = None
        self._env = {}

    def described(self):
        return {"id": self.id, "language": self.language, "cwd": self.cwd}

    async def start(self):
        self._machine, self._env = machine_id(), sandbox_environment()
        self._kernel = await KERNELS[self.language].started(self.cwd, self._env)

    async def warm_up(self):
        """Cells that come meanwhile wait for it."""
        async with self._turn:
            await self.start()
            await self._kernel.warm_up()
            if not self._kernel.may_be_frozen:
                await self._kernel.kill()

    async def restart(self):
        """What runs in it ends with an error event."""
        if self._kernel is not None:
            await self._kernel.kill()
        async with self._turn:
            await self._ensure_kernel()

    async def end(self):
        self.is_removed = True
        if self._kernel is not None:
            await self._kernel.kill()

    async def execute(self, code, env, gone):
        """Events, in order; the last one is the end. Where the client goes away, what runs is interrupted."""
        async with self._turn:
            if gone.is_set():
                return
            try:
                await self._ensure_kernel()
                await self._be_of_this_sandbox()
                if gone.is_set():
                    return
                await self._change_environment(env)
                try:
                    async for event in self._kernel.run(code, gone):
                        yield event
                finally:
                    await self._restore_environment(env)
            except KernelDied:
                if self._kernel is not None:
                    await self._kernel.kill()
                yield error_event("KernelDied", "The kernel ended, and what it had in memory is gone.")
            except OutputTooLarge as error:
                yield error_event("OutputTooLarge", str(error))
            yield END

    async def _ensure_kernel(self):
        if self.is_removed:
            raise KernelDied()
        if self._kernel is None or not self._kernel.is_alive():
            await self.start()

    async def _be_of_this_sandbox(self):
        """A kernel that was frozen has neither the variables of the sandbox that it wakes in, nor random numbers that no other clone has."""
        machine, env, before = machine_id(), sandbox_environment(), self._env
        if machine != self._machine:
            await self._kernel.reseed()
        self._machine, self._env = machine, env
        if env != before:
            await self._restore_environment({**before, **env})

    async def _change_environment(self, changes):
        if changes:
            await self._kernel.change_environment(changes)

    async def _restore_environment(self, names):
        """To the values that these have in the sandbox."""
        if self._kernel.is_alive():
            values = {**base_environment(), **self._env}
            await self._change_environment({name: values.get(name) for name in names})


class Contexts:
    def __init__(self):
        self._contexts = {}
        self._defaults = {}
        self.is_warm = False
        for language in STARTED:
            self._default(language)

    def list(self):
        return list(self._contexts.values())

    async def warm_up(self):
        for language in STARTED:
            await self._default(language).warm_up()
        self.is_warm = True

    def find(self, context_id):
        context = self._contexts.get(context_id)
        if context is None:
            raise Refusal(404, f"Context {context_id} not found")
        return context

    def of_request(self, context_id, language):
        if context_id is not None and language is not None:
            raise Refusal(400, "Only one of context_id or language can be provided")
        if context_id is not None:
            return self.find(context_id)
        return self._default(known_language(language))

    def _default(self, language):
        known = self._defaults.get(language)
        if known is None or known.is_removed:
            known = self._defaults[language] = Context(language, DEFAULT_CWD)
            self._contexts[known.id] = known
        return known

    async def create(self, language, cwd):
        context = Context(known_language(language), cwd or DEFAULT_CWD)
        if not os.path.isdir(context.cwd):
            raise Refusal(400, f"{context.cwd[:200]!r} is not a folder.")
        if len(self._contexts) >= CONTEXTS_MAX:
            raise Refusal(429, f"There are {CONTEXTS_MAX} contexts already.")
        self._contexts[context.id] = context
        try:
            await context.start()
        except BaseException:
            del self._contexts[context.id]
            await context.end()
            raise
        return context

    async def remove(self, context_id):
        context = self.find(context_id)
        del self._contexts[context_id]
        await context.end()

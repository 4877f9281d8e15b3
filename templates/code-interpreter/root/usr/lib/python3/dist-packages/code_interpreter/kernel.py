"""What all kernels have in common. A kernel is one process of the sandbox's user, which runs cells one after the other."""

import asyncio
import os
import signal

from .output import Output

INTERRUPT_EVERY_S = 5


class KernelDied(Exception):
    """Its process has ended."""


class Kernel:
    # How many interrupts a cell may withstand before the kernel is killed; None: any number.
    interrupts_max = None
    # Whether clones may wake with one that has started; where not, what it reads is in memory all the same.
    may_be_frozen = True

    def __init__(self, cwd, env):
        self.cwd, self.env = cwd, env
        self._process = None

    @classmethod
    async def started(cls, cwd, env):
        kernel = cls(cwd, env)
        try:
            await kernel.start()
        except BaseException:
            await kernel.kill()
            raise
        return kernel

    async def start(self):
        """Until it takes cells. Sets `_process`."""
        raise NotImplementedError

    def events(self, code):
        """The events of a cell in order, until it has ended. Throws `KernelDied`."""
        raise NotImplementedError

    async def change_environment(self, changes):
        """Values by name; None removes the variable."""
        raise NotImplementedError

    async def reseed(self):
        """Clones of one template would have the same random numbers."""

    async def warm_up(self):
        """Loads what most cells begin with."""

    def is_alive(self):
        return self._process is not None and self._process.returncode is None

    def interrupt(self):
        if self.is_alive():
            # Programs in the foreground get it too, as from a terminal.
            os.killpg(self._process.pid, signal.SIGINT)

    async def kill(self):
        if self.is_alive():
            os.killpg(self._process.pid, signal.SIGKILL)
            await self._process.wait()

    async def run(self, code, gone):
        """Events. Throws `OutputTooLarge` where the client takes less than the code prints."""
        output = Output(self.interrupt)
        reading = asyncio.create_task(self._read_into(output, code))
        leaving = asyncio.create_task(self._interrupt_when(gone))
        try:
            async for event in output.events():
                if not gone.is_set():
                    yield event
            await reading
        finally:
            leaving.cancel()
            if not reading.done():
                # The reader of the events has left in the middle.
                await self._interrupt_until(reading)

    async def _read_into(self, output, code):
        try:
            async for event in self.events(code):
                output.put(event)
        finally:
            output.end()

    async def _interrupt_when(self, gone):
        await gone.wait()
        await self._interrupt_until(asyncio.get_running_loop().create_future())

    async def _interrupt_until(self, end):
        """More than once, because code may catch it."""
        sent = 0
        while not end.done():
            if sent == self.interrupts_max:
                await self.kill()
                return
            self.interrupt()
            sent += 1
            await asyncio.wait([end], timeout=INTERRUPT_EVERY_S)

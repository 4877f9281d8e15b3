"""Creations whose caller has stopped waiting for them."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import unittest
from typing import Callable, List
from unittest.mock import patch

from scripted_server import SANDBOX, Handler, Received, ScriptedServer
from skerry import AsyncSkerry, ForbiddenError, Skerry, SkerryConnectionError

MACHINE = {"id": "mch_0", "status": "running"}


class Leaving:
    """A server whose first creation is answered only when another call has come, and whose caller leaves meanwhile."""

    def __init__(self, leave: Callable[[], object], *, status: int = 201) -> None:
        self.server = ScriptedServer(self._script)
        self._leave = leave
        self._status = status
        self._again = threading.Event()

    def _script(self, handler: Handler, request: Received) -> None:
        if len(self.server.received) == 1:
            self._leave()
            self._again.wait(60)
        self._again.set()
        if request.method == "DELETE":
            return handler.answer(204, b"")
        made = MACHINE if request.target == "/v1/machines" else SANDBOX
        refusal = {"code": "quota_exceeded", "message": "No more."}
        handler.answer_json(self._status, made if self._status == 201 else refusal)

    def calls(self) -> List[str]:
        return [f"{request.method} {request.target}" for request in self.server.received]


def interrupt_main() -> None:
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


SANDBOX_CALLS = ["POST /v1/sandboxes", "POST /v1/sandboxes", "DELETE /v1/sandboxes/sbx_0"]
MACHINE_CALLS = ["POST /v1/machines", "POST /v1/machines", "DELETE /v1/machines/mch_0"]


class AbandonedTest(unittest.IsolatedAsyncioTestCase):
    def assert_same_creation(self, requests: List[Received]) -> None:
        self.assertEqual(len({request.headers["idempotency-key"] for request in requests}), 1)
        self.assertEqual(len({request.body for request in requests}), 1)

    async def test_what_a_canceled_task_was_creating_is_destroyed(self) -> None:
        for kind, calls in (("sandboxes", SANDBOX_CALLS), ("machines", MACHINE_CALLS)):
            begun = threading.Event()
            leaving = Leaving(begun.set)
            with self.subTest(kind), leaving.server as server:
                async with AsyncSkerry(server.base_url, token="sk_test") as skerry:
                    task = asyncio.ensure_future(getattr(skerry, kind).create(template="base", name="mine"))
                    await asyncio.to_thread(begun.wait, 60)
                    task.cancel()
                    with self.assertRaises(asyncio.CancelledError):
                        await task
                self.assertEqual(leaving.calls(), calls)
                self.assert_same_creation(server.received[:2])

    async def test_a_creation_with_a_key_of_the_caller_is_left_for_the_caller_to_find(self) -> None:
        begun = threading.Event()
        leaving = Leaving(begun.set)
        with leaving.server:
            async with AsyncSkerry(leaving.server.base_url, token="sk_test") as skerry:
                task = asyncio.ensure_future(skerry.sandboxes.create(template="base", idempotency_key="mine"))
                await asyncio.to_thread(begun.wait, 60)
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
                await skerry.sandboxes.create(template="base", idempotency_key="mine")
        self.assertEqual(leaving.calls(), SANDBOX_CALLS[:2])

    async def test_one_that_is_refused_after_its_caller_has_left_is_nobodys_error(self) -> None:
        begun = threading.Event()
        leaving = Leaving(begun.set, status=403)
        with leaving.server as server:
            async with AsyncSkerry(server.base_url, token="sk_test") as skerry:
                task = asyncio.ensure_future(skerry.sandboxes.create(template="base"))
                await asyncio.to_thread(begun.wait, 60)
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
            self.assertEqual(leaving.calls(), SANDBOX_CALLS[:2])

    async def test_one_that_is_refused_while_its_caller_waits_is_asked_for_once(self) -> None:
        leaving = Leaving(lambda: leaving._again.set(), status=403)
        with leaving.server as server:
            async with AsyncSkerry(server.base_url, token="sk_test") as skerry:
                with self.assertRaises(ForbiddenError):
                    await skerry.sandboxes.create(template="base")
            self.assertEqual(leaving.calls(), SANDBOX_CALLS[:1])


class InterruptedTest(unittest.TestCase):
    def test_what_an_interrupted_call_was_creating_is_destroyed(self) -> None:
        for kind, calls in (("sandboxes", SANDBOX_CALLS), ("machines", MACHINE_CALLS)):
            leaving = Leaving(interrupt_main)
            with self.subTest(kind), leaving.server as server:
                with self.assertRaises(KeyboardInterrupt), Skerry(server.base_url, token="sk_test") as skerry:
                    getattr(skerry, kind).create(template="base")
                self.assertEqual(leaving.calls(), calls)

    def test_so_is_what_it_was_creating_when_a_signals_handler_raised(self) -> None:
        class Overdue(Exception):
            pass

        def raise_overdue(*_: object) -> None:
            raise Overdue

        before = signal.signal(signal.SIGINT, raise_overdue)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        leaving = Leaving(interrupt_main)
        with leaving.server as server:
            with self.assertRaises(Overdue), Skerry(server.base_url, token="sk_test") as skerry:
                skerry.sandboxes.create(template="base")
            self.assertEqual(leaving.calls(), SANDBOX_CALLS)

    def test_so_is_what_a_server_was_creating_that_is_silent_for_too_long(self) -> None:
        leaving = Leaving(lambda: None)
        with leaving.server as server, patch("skerry._sync._sandboxes.CREATE_WITHIN_S", 0.1):
            with self.assertRaises(SkerryConnectionError), Skerry(server.base_url, token="sk_test") as skerry:
                skerry.sandboxes.create(template="base")
            self.assertEqual(leaving.calls(), SANDBOX_CALLS)

    def test_a_program_that_is_interrupted_ends_when_that_is_done_also_where_it_closes_nothing(self) -> None:
        plain = "from skerry import Skerry; Skerry().sandboxes.create(template='base')"
        asynchronous = (
            "import asyncio; from skerry import AsyncSkerry\n"
            "async def main():\n"
            "    create = asyncio.ensure_future(AsyncSkerry().sandboxes.create(template='base'))\n"
            "    asyncio.get_running_loop().add_signal_handler(2, create.cancel)\n"
            "    await create\n"
            "asyncio.run(main())"
        )
        for program, says in ((plain, "KeyboardInterrupt"), (asynchronous, "CancelledError")):
            running: List[subprocess.Popen[str]] = []
            started = threading.Event()

            def interrupt() -> None:
                started.wait(60)
                running[0].send_signal(signal.SIGINT)

            leaving = Leaving(interrupt)
            with self.subTest(says), leaving.server as server:
                env = {**os.environ, "SKERRY_API_URL": server.base_url, "SKERRY_API_TOKEN": "sk_test"}
                running.append(subprocess.Popen([sys.executable, "-c", program], env=env, stderr=subprocess.PIPE, text=True))
                started.set()
                _, stderr = running[0].communicate(timeout=60)
                self.assertEqual(leaving.calls(), SANDBOX_CALLS)
                self.assertIn(says, stderr)


if __name__ == "__main__":
    unittest.main()

"""What a process and its child do with one client: Gunicorn, multiprocessing and Celery fork."""

from __future__ import annotations

import asyncio
import json
import os
import unittest
from typing import Any, Callable, List

import httpx

from scripted_server import Handler, Received, ScriptedServer
from skerry import AsyncSkerry, Skerry, SkerryConnectionError, SkerryInputError


def in_child(work: Callable[[], object]) -> Any:
    """What it returns there, or the name of what it throws."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            told = work()
        except BaseException as error:
            told = type(error).__name__
        os.write(writing, json.dumps(told).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        told = json.loads(answer.read())
    os.waitpid(pid, 0)
    return told


class ForkTest(unittest.TestCase):
    def setUp(self) -> None:
        self.connections: List[int] = []

        def script(handler: Handler, _: Received) -> None:
            self.connections.append(handler.client_address[1])
            handler.answer_json(200, {"of": handler.client_address[1]})

        self.server = ScriptedServer(script)
        self.server.__enter__()
        self.addCleanup(self.server.__exit__, None, None, None)

    def test_a_child_has_connections_of_its_own_and_its_parent_keeps_its(self) -> None:
        with Skerry(self.server.base_url, token="sk_test") as skerry:
            skerry.me()
            self.assertEqual(in_child(lambda: len(skerry.me())), 1)
            skerry.me()
        first, of_child, again = self.connections
        self.assertEqual(first, again)
        self.assertNotEqual(first, of_child)

    def test_the_asynchronous_client_does_the_same(self) -> None:
        async def child(skerry: AsyncSkerry) -> int:
            found = len(await skerry.me())
            await skerry.aclose()
            return found

        async def parent() -> None:
            async with AsyncSkerry(self.server.base_url, token="sk_test") as skerry:
                await skerry.me()
                self.assertEqual(in_child(lambda: asyncio.run(child(skerry))), 1)
                await skerry.me()

        asyncio.run(parent())
        first, of_child, again = self.connections
        self.assertEqual(first, again)
        self.assertNotEqual(first, of_child)

    def test_a_client_of_the_callers_is_refused_in_the_child_once_it_has_connections(self) -> None:
        with httpx.Client() as own, Skerry(self.server.base_url, token="sk_test", http_client=own) as skerry:
            self.assertEqual(in_child(lambda: len(skerry.me())), 1)
            skerry.me()
            self.assertEqual(in_child(skerry.me), SkerryInputError.__name__)

    def test_an_answer_that_began_before_the_fork_is_not_read_in_the_child(self) -> None:
        with Skerry(self.server.base_url, token="sk_test") as skerry:
            pieces = skerry.sandboxes.download_stream("sbx_0", "/x")
            begun = next(pieces)
            self.assertEqual(in_child(lambda: list(pieces)), SkerryConnectionError.__name__)
            self.assertEqual(json.loads(begun + b"".join(pieces)), {"of": self.connections[0]})


if __name__ == "__main__":
    unittest.main()

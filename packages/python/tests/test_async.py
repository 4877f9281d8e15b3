"""What the asynchronous half does in its own way. The rest of it is what the synchronous half is made of."""

from __future__ import annotations

import asyncio
import tempfile
import threading
import unittest
from pathlib import Path
from typing import AsyncIterator, List

from scripted_server import EXIT, SANDBOX, Handler, Received, ScriptedServer, answering, event, output
from skerry import AsyncSkerry, AsyncUploadContent, NotFoundError, SkerryInputError


class AsyncTest(unittest.IsolatedAsyncioTestCase):
    async def test_calls_run_at_the_same_time(self) -> None:
        together = threading.Barrier(3)

        def script(handler: Handler, _: Received) -> None:
            together.wait(60)
            handler.begin_events()
            handler.send_text(output("stdout", b"x") + event("exit", EXIT))

        with ScriptedServer(script) as server:
            async with AsyncSkerry(server.base_url, token="sk_test") as skerry:
                runs = await asyncio.gather(*(skerry.sandboxes.execute(f"sbx_{it}", "x") for it in range(3)))
        self.assertEqual([run["stdout"] for run in runs], ["x", "x", "x"])

    async def test_the_end_of_the_block_destroys_a_sandbox(self) -> None:
        with ScriptedServer(answering(200, SANDBOX)) as server:
            async with AsyncSkerry(server.base_url, token="sk_test") as skerry:
                async with await skerry.sandboxes.create(template="base") as sandbox:
                    self.assertEqual(repr(sandbox), "<AsyncSandbox sbx_0 running>")
        self.assertEqual([request.method for request in server.received], ["POST", "DELETE"])

    async def test_a_canceled_task_ends_its_command(self) -> None:
        begun = threading.Event()

        def script(handler: Handler, _: Received) -> None:
            handler.begin_events()
            begun.set()
            while True:
                handler.send_text(": alive\n\n" * 1000)

        with ScriptedServer(script) as server:
            async with AsyncSkerry(server.base_url, token="sk_test") as skerry:
                task = asyncio.create_task(skerry.sandboxes.execute("sbx_0", "forever"))
                await asyncio.to_thread(begun.wait, 60)
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
                self.assertTrue(await asyncio.to_thread(server.left.wait, 60))

    async def test_every_kind_of_content_arrives_whole(self) -> None:
        large = bytes(range(256)) * 1024

        async def pieces() -> AsyncIterator[bytes]:
            yield large[:1000]
            yield large[1000:]

        with tempfile.TemporaryDirectory() as folder, ScriptedServer(answering(200, {})) as server:
            path = Path(folder, "file")
            path.write_bytes(large)
            async with AsyncSkerry(server.base_url, token="sk_test") as skerry:
                with path.open("rb") as file:
                    contents: List[AsyncUploadContent] = [large, path, file, pieces()]
                    for content in contents:
                        await skerry.sandboxes.upload("sbx_0", "/a", content)
                        self.assertEqual(server.received[-1].body, large)

    async def test_what_is_no_content_of_a_file_is_refused(self) -> None:
        async def texts() -> AsyncIterator[str]:
            yield "text"

        with ScriptedServer(answering(200, {})) as server:
            async with AsyncSkerry(server.base_url, token="sk_test") as skerry:
                for wrong in ({"a": 1}, [b"x"], None, texts()):
                    with self.subTest(str(wrong)), self.assertRaises(SkerryInputError):
                        await skerry.sandboxes.upload("sbx_0", "/a", wrong)  # type: ignore[arg-type]

    async def test_lists_iterate_over_all_pages_and_refusals_are_raised(self) -> None:
        def script(handler: Handler, request: Received) -> None:
            if request.target == "/v1/sandboxes/sbx_9":
                return handler.answer_json(404, {"code": "sandbox_not_found", "message": "None."})
            last = "cursor=two" in request.target
            handler.answer_json(200, {"items": [SANDBOX], "next_cursor": None if last else "two"})

        with ScriptedServer(script) as server:
            async with AsyncSkerry(server.base_url, token="sk_test") as skerry:
                self.assertEqual(len([sandbox async for sandbox in skerry.sandboxes.list()]), 2)
                with self.assertRaises(NotFoundError):
                    await skerry.sandboxes.get("sbx_9")


if __name__ == "__main__":
    unittest.main()

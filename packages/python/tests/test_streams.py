from __future__ import annotations

import base64
import unittest
from types import SimpleNamespace
from typing import List
from unittest.mock import patch

from scripted_server import EXIT, Handler, Received, ScriptedServer, event, output
from skerry import Skerry, SkerryConnectionError, SkerryInputError
from skerry._event_stream import EVENT_MAX_CHARS, EventReader, EventStreamError, ServerEvent
from skerry.errors import SkerryApiError


def sending(*texts: str) -> ScriptedServer:
    def script(handler: Handler, _: Received) -> None:
        handler.begin_events()
        for text in texts:
            handler.send_text(text)

    return ScriptedServer(script)


class EventReaderTest(unittest.TestCase):
    def read(self, *chunks: bytes) -> List[ServerEvent]:
        reader = EventReader()
        return [found for chunk in chunks for found in reader.feed(chunk)]

    def test_events_are_the_same_wherever_their_bytes_are_cut(self) -> None:
        text = ": comment\r\n\r\nevent: a\rdata:x\rdata: grüße\r\rdata\ndata: z\n\nevent: lost\n".encode()
        whole = [ServerEvent("a", "x\ngrüße"), ServerEvent("message", "\nz")]
        self.assertEqual(self.read(text), whole)
        self.assertEqual(self.read(*(text[at : at + 1] for at in range(len(text)))), whole)
        for at in range(len(text)):
            self.assertEqual(self.read(text[:at], text[at:]), whole, at)

    def test_an_event_without_an_end_is_not_collected_for_ever(self) -> None:
        piece = b"x" * (1024 * 1024)
        for chunks in ([piece] * 5, [b"data:" + piece + b"\n"] * 5):
            with self.assertRaises(EventStreamError):
                self.read(*chunks)
        self.assertLess(4 * len(piece), EVENT_MAX_CHARS + 1)


def followed(name: str, data: object, position: int) -> str:
    return f"id: {position}\n{event(name, data)}"


class FollowTest(unittest.TestCase):
    def test_a_connection_that_breaks_is_made_again_and_goes_on_where_it_was(self) -> None:
        bodies = [
            [followed("start", {}, 0), followed("stdout", {"data": "YWI="}, 2)],
            [followed("dropped", {"from": 2, "to": 9}, 9), followed("stderr", {"data": "Yw=="}, 10)],
            [event("error", {"code": "vm_moving", "message": "It moves."})],
            [": alive\n\n", followed("exit", EXIT, 10)],
        ]

        def script(handler: Handler, _: Received) -> None:
            handler.begin_events()
            for text in bodies.pop(0):
                handler.send_text(text)

        with ScriptedServer(script) as server, Skerry(server.base_url, token="sk_test") as skerry:
            with skerry.sandboxes.follow_execution("sbx_0", "exe_1") as events:
                self.assertEqual(
                    list(events),
                    [
                        {"type": "stdout", "data": b"ab", "position": 2},
                        {"type": "dropped", "from": 2, "to": 9, "position": 9},
                        {"type": "stderr", "data": b"c", "position": 10},
                        {**EXIT, "type": "exit", "position": 10},
                    ],
                )
        path = "/v1/sandboxes/sbx_0/executions/exe_1/stream?"
        self.assertEqual(
            [request.target for request in server.received],
            [f"{path}hold=false", *(f"{path}after={at}&hold=false" for at in (2, 10, 10))],
        )

    def test_a_connection_that_breaks_after_an_hour_of_silence_is_made_again(self) -> None:
        passed_s = 0.0
        bodies = [followed("stdout", {"data": "YWI="}, 2), followed("stdout", {"data": "YWI="}, 4), followed("exit", EXIT, 4)]

        def script(handler: Handler, _: Received) -> None:
            handler.begin_events()
            handler.send_text(bodies.pop(0))

        clock = SimpleNamespace(monotonic=lambda: passed_s)
        heard: List[str] = []
        with patch("skerry._sync._executions.clock", clock), ScriptedServer(script) as server:
            with Skerry(server.base_url, token="sk_test") as skerry:
                with skerry.sandboxes.follow_execution("sbx_0", "exe_1") as events:
                    for event_heard in events:
                        heard.append(event_heard["type"])
                        passed_s += 3600
        self.assertEqual(heard, ["stdout", "stdout", "exit"])

    def test_what_does_not_pass_or_lasts_too_long_is_an_error(self) -> None:
        gone = event("error", {"code": "execution_not_found", "message": "None."})
        with sending(gone) as server, Skerry(server.base_url, token="sk_test") as skerry:
            with self.assertRaises(SkerryApiError):
                list(skerry.sandboxes.follow_execution("sbx_0", "exe_1"))
        broken: List[List[str]] = [[], [output("stdout", b"x")], [followed("stdout", {"data": "YWI="}, -1)]]
        for texts in broken:
            with sending(*texts) as server, Skerry(server.base_url, token="sk_test") as skerry:
                with self.assertRaises(SkerryConnectionError):
                    list(skerry.sandboxes.follow_execution("sbx_0", "exe_1", reconnect_s=0))


class ExecuteTest(unittest.TestCase):
    def test_output_comes_as_exact_bytes_and_then_the_exit(self) -> None:
        texts = (output("stdout", b"a\xff"), ": alive\n\n", event("later", {}), output("stderr", b"b"), event("exit", EXIT))
        with sending(*texts) as server, Skerry(server.base_url, token="sk_test") as skerry:
            with skerry.sandboxes.execute_stream("sbx_0", "x", workdir="/w", timeout="1m") as events:
                self.assertEqual(
                    list(events),
                    [{"type": "stdout", "data": b"a\xff"}, {"type": "stderr", "data": b"b"}, {**EXIT, "type": "exit"}],
                )
            run = skerry.sandboxes.execute("sbx_0", "x")
        self.assertEqual(server.received[0].json(), {"command": "x", "workdir": "/w", "timeout": "1m", "reattach": "60s"})
        self.assertEqual(server.received[0].headers["accept"], "text/event-stream")
        self.assertEqual(run, {**EXIT, "stdout": "a\ufffd", "stderr": "b"})

    def test_nothing_is_sent_before_the_first_read_and_leaving_the_block_ends_the_call(self) -> None:
        def script(handler: Handler, _: Received) -> None:
            handler.begin_events()
            while True:
                handler.send_text(output("stdout", b"x" * 10_000))

        with ScriptedServer(script) as server, Skerry(server.base_url, token="sk_test") as skerry:
            stream = skerry.sandboxes.execute_stream("sbx_0", "forever")
            self.assertEqual(server.received, [])
            with stream:
                self.assertEqual(next(stream)["type"], "stdout")
            self.assertTrue(server.left.wait(60))

    def test_a_connection_that_breaks_is_made_again_and_a_caller_that_leaves_kills_the_command(self) -> None:
        def script(handler: Handler, received: Received) -> None:
            if received.target.endswith("/kill"):
                return handler.answer_json(200, {})
            if received.target.endswith("/executions/exe_1"):
                return handler.answer_json(200, {"stdin": False})
            handler.begin_events()
            if received.method == "POST":
                handler.send_text(followed("start", {"id": "exe_1"}, 0) + followed("stdout", {"data": "YWI="}, 2))
                return handler.break_off()
            handler.send_text(followed("start", {"id": "exe_1"}, 2) + followed("stderr", {"data": "Yw=="}, 3))
            if received.target.startswith("/v1/sandboxes/ends"):
                handler.send_text(followed("exit", EXIT, 3))
            return None

        with ScriptedServer(script) as server, Skerry(server.base_url, token="sk_test") as skerry:
            for stdin in (None, "input"):
                run = skerry.sandboxes.execute("ends", "x", timeout="0s", stdin=stdin)
                self.assertEqual(run, {**EXIT, "stdout": "ab", "stderr": "c"})
                self.assertIn("/executions/exe_1/stream?after=2&hold=true", server.received[-1].target)
            with skerry.sandboxes.execute_stream("sbx_0", "x") as events:
                kinds = [next(events)["type"] for _ in range(2)]
            self.assertEqual(kinds, ["stdout", "stderr"])
            self.assertTrue(server.received[-1].target.endswith("/executions/exe_1/kill"))
            self.assertEqual(server.received[-1].json(), {"signal": "KILL"})

    def test_a_command_whose_input_was_cut_off_is_killed_and_told(self) -> None:
        def script(handler: Handler, received: Received) -> None:
            if "/executions/" in received.target:
                return handler.answer_json(200, {"stdin": True})
            handler.begin_events()
            handler.send_text(followed("start", {"id": "exe_1"}, 0))
            return handler.break_off()

        with ScriptedServer(script) as server, Skerry(server.base_url, token="sk_test") as skerry:
            with self.assertRaises(SkerryConnectionError):
                skerry.sandboxes.execute("sbx_0", "x", stdin="input")
            self.assertTrue(server.received[-1].target.endswith("/executions/exe_1/kill"))

    def test_a_stream_that_lies_or_ends_too_early_is_an_error(self) -> None:
        for texts in (
            (output("stdout", b"half"),),
            (event("stdout", {"data": 7}),),
            (event("stdout", {"data": "no base64"}),),
            ("event: exit\ndata: {\n\n",),
            ("event: exit\ndata: []\n\n",),
            (event("error", {}),),
        ):
            with sending(*texts) as server, Skerry(server.base_url, token="sk_test") as skerry:
                with self.subTest(texts=texts), self.assertRaises(SkerryConnectionError):
                    skerry.sandboxes.execute("sbx_0", "x")
        with sending(event("error", {"code": "workdir_not_found", "message": "Gone."})) as server:
            with Skerry(server.base_url, token="sk_test") as skerry, self.assertRaises(SkerryApiError) as raised:
                skerry.sandboxes.execute("sbx_0", "x")
        self.assertEqual((raised.exception.code, raised.exception.status), ("workdir_not_found", 422))

    def test_an_exit_without_fields_is_passed_on_as_it_is(self) -> None:
        with sending(event("exit", {})) as server, Skerry(server.base_url, token="sk_test") as skerry:
            run = skerry.sandboxes.execute("sbx_0", "x")
        self.assertEqual(run, {"stdout": "", "stderr": "", "truncated": False})

    def test_more_output_than_an_answer_holds_is_dropped_and_told(self) -> None:
        piece = output("stdout", b"x" * (3 * 1024 * 1024 // 2))
        with sending(*([piece] * 7), event("exit", EXIT)) as server, Skerry(server.base_url, token="sk_test") as skerry:
            run = skerry.sandboxes.execute("sbx_0", "x")
        self.assertEqual((len(run["stdout"]), run["truncated"]), (10 * 1024 * 1024, True))

    def test_input_is_sent_as_exact_bytes_and_too_much_of_it_is_refused_before(self) -> None:
        with sending(event("exit", EXIT)) as server, Skerry(server.base_url, token="sk_test") as skerry:
            skerry.sandboxes.execute("sbx_0", "cat", stdin=b"a\xff\x00")
            skerry.sandboxes.execute("sbx_0", "cat", stdin="grüße")
            with self.assertRaises(SkerryInputError):
                skerry.sandboxes.execute("sbx_0", "cat", stdin=b"x" * (10 * 1024 * 1024 + 1))
        for request, data in zip(server.received, (b"a\xff\x00", "grüße".encode())):
            self.assertEqual(request.json()["stdin_encoding"], "base64")
            self.assertEqual(base64.b64decode(request.json()["stdin"]), data)
        self.assertEqual(len(server.received), 2)


class FollowLogsTest(unittest.TestCase):
    def test_lines_come_until_the_machine_is_destroyed(self) -> None:
        with sending(event("line", {"line": "a"}), event("line", {"line": "b"}), event("end", {})) as server:
            with Skerry(server.base_url, token="sk_test") as skerry:
                self.assertEqual(list(skerry.machines.follow_logs("mch_0", lines=2)), ["a", "b"])
        self.assertEqual(server.received[0].target, "/v1/machines/mch_0/logs?lines=2&follow=true")

    def test_a_log_that_breaks_off_is_an_error(self) -> None:
        for texts in ((event("line", {"line": "a"}),), (event("line", {"line": 7}),)):
            with sending(*texts) as server, Skerry(server.base_url, token="sk_test") as skerry:
                with self.assertRaises(SkerryConnectionError):
                    list(skerry.machines.follow_logs("mch_0"))

    def test_the_log_of_an_app_goes_on_where_it_broke_off(self) -> None:
        def line(text: str, position: str) -> str:
            return event("line", {"line": text, "machine_id": "mch_1", "position": position})

        with sending(
            line("a", "1"),
            event("synced", {"cursor": "c1", "unavailable": []}),
            line("b", "2"),
        ) as server:
            with Skerry(server.base_url, token="sk_test") as skerry:
                lines = skerry.apps.follow_logs("shop", level="warn")
                self.assertEqual([next(lines)["line"] for _ in range(3)], ["a", "b", "a"])
                lines.close()
        targets = [request.target for request in server.received]
        self.assertEqual(targets[0], "/v1/apps/shop/logs?level=warn&follow=true")
        self.assertEqual(targets[1], "/v1/apps/shop/logs?level=warn&follow=true&after=c1%2Cmch_1%3A2")


if __name__ == "__main__":
    unittest.main()

from __future__ import annotations

import unittest
from typing import Callable, Dict, List
from unittest.mock import patch

from scripted_server import SANDBOX, Handler, Received, ScriptedServer
from skerry import (
    ImpossibleError,
    NotFoundError,
    RateLimitedError,
    Skerry,
    SkerryApiError,
    SkerryConnectionError,
    SkerryError,
    SkerryInputError,
    UnavailableError,
)
from skerry.types import ERROR_STATUS


def flaky(failures: int, fail: Callable[[Handler], None]) -> ScriptedServer:
    """Fails so many times, then answers."""
    calls: List[Received] = []

    def script(handler: Handler, request: Received) -> None:
        calls.append(request)
        if len(calls) <= failures:
            fail(handler)
        else:
            handler.answer_json(200, dict(SANDBOX, items=[]))

    return ScriptedServer(script)


def refusal(code: str, status: int, **headers: str) -> Callable[[Handler], None]:
    return lambda handler: handler.answer_json(status, {"code": code, "message": "Not now."}, headers)


class ErrorsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.pauses: List[float] = []
        patched = patch("time.sleep", self.pauses.append)
        patched.start()
        self.addCleanup(patched.stop)

    def test_a_refusal_is_of_its_kind_and_says_all_that_the_server_has_said(self) -> None:
        body: Dict[str, object] = {
            "code": "unknown_template",
            "message": "There is no template windows.",
            "remediation": "Use base.",
            "context": {"template": "windows"},
            "request_id": "req_1",
        }
        with flaky(1, lambda handler: handler.answer_json(422, body)) as server:
            with Skerry(server.base_url, token="sk_test") as skerry, self.assertRaises(ImpossibleError) as raised:
                skerry.sandboxes.create(template="windows")
        error = raised.exception
        self.assertEqual((error.code, error.status, error.request_id), ("unknown_template", 422, "req_1"))
        self.assertEqual(error.context, {"template": "windows"})
        self.assertEqual(str(error), "There is no template windows. Use base. (unknown_template)")

    def test_an_argument_named_as_another_library_does_is_told_by_its_name_here(self) -> None:
        with Skerry("http://127.0.0.1:1", token="sk_test") as skerry:
            with self.assertRaisesRegex(TypeError, r"^execute\(\) has no argument cwd\. Write workdir=…\.$"):
                skerry.sandboxes.execute("sbx_1", "ls", cwd="/work")  # type: ignore[call-arg]
            with self.assertRaisesRegex(TypeError, r"^execute\(\) has no argument timeout_ms\. Write timeout=\"30s\"\.$"):
                skerry.machines.execute("mch_1", "ls", timeout_ms=5)  # type: ignore[call-arg]
            with self.assertRaisesRegex(TypeError, "unexpected keyword argument 'colour'"):
                skerry.sandboxes.execute("sbx_1", "ls", colour="red")  # type: ignore[call-arg]

    def test_every_code_has_a_class_of_its_kind(self) -> None:
        self.assertEqual(ERROR_STATUS["sandbox_not_found"], 404)
        self.assertGreater(len(ERROR_STATUS), 40)

        def script(handler: Handler, request: Received) -> None:
            code = request.target.split("/")[-1]
            refusal(code, ERROR_STATUS[code])(handler)

        with ScriptedServer(script) as server, Skerry(server.base_url, token="sk_test", retries=0) as skerry:
            for code, status in ERROR_STATUS.items():
                with self.subTest(code=code), self.assertRaises(SkerryApiError) as raised:
                    skerry.templates.get(code)
                self.assertEqual(raised.exception.code, code)
                self.assertEqual(type(raised.exception) is SkerryApiError, status >= 499 and status != 503, code)

    def test_what_is_no_answer_of_skerry_is_said_to_be_none(self) -> None:
        answers: Dict[bytes, int] = {b"<html>": 502, b"[" * 100_000: 500, b'{"code": 7}': 500, b"": 302}
        for body, status in answers.items():
            with flaky(9, lambda handler: handler.answer(status, body)) as server:
                with Skerry(server.base_url, token="sk_test") as skerry, self.assertRaises(SkerryApiError) as raised:
                    skerry.me()
            self.assertEqual((raised.exception.code, raised.exception.status), ("unexpected_response", status))
        for body in (b"<html>", b"[" * 100_000, b"\xff"):
            with flaky(9, lambda handler: handler.answer(200, body)) as server:
                with Skerry(server.base_url, token="sk_test") as skerry, self.assertRaises(SkerryConnectionError):
                    skerry.me()

    def test_a_creation_whose_connection_breaks_is_sent_again_under_the_same_key_and_each_has_its_own(self) -> None:
        with flaky(1, Handler.break_off) as server, Skerry(server.base_url, token="sk_test") as skerry:
            self.assertEqual(skerry.sandboxes.create(template="base").id, "sbx_0")
            skerry.sandboxes.create(template="base")
        first, again, second = [request.headers["idempotency-key"] for request in server.received]
        self.assertRegex(first, "^[0-9a-f-]{36}$")
        self.assertEqual(first, again)
        self.assertNotEqual(first, second)
        self.assertEqual(server.received[0].body, server.received[1].body)

    def test_a_refusal_that_passes_is_waited_for_and_every_other_one_is_told_at_once(self) -> None:
        for code, status, sent in (
            ("database_unavailable", 503, 2),
            ("shutting_down", 503, 2),
            ("no_capacity", 503, 1),
            ("internal", 500, 1),
            ("sandbox_not_found", 404, 1),
        ):
            with flaky(1, refusal(code, status)) as server, Skerry(server.base_url, token="sk_test") as skerry:
                if sent == 2:
                    self.assertEqual(skerry.sandboxes.get("sbx_0").id, "sbx_0")
                else:
                    self.assertRaises(SkerryApiError, skerry.sandboxes.get, "sbx_0")
            self.assertEqual(len(server.received), sent, code)

    def test_a_command_an_upload_and_a_change_are_never_sent_twice(self) -> None:
        with flaky(99, Handler.break_off) as server, Skerry(server.base_url, token="sk_test") as skerry:
            calls: List[Callable[[], object]] = [
                lambda: skerry.sandboxes.execute("sbx_0", "true"),
                lambda: skerry.sandboxes.upload("sbx_0", "/a", "x"),
                lambda: skerry.sandboxes.keepalive("sbx_0"),
                lambda: skerry.sandboxes.set_egress("sbx_0"),
            ]
            for number, call in enumerate(calls, start=1):
                self.assertRaises(SkerryConnectionError, call)
                self.assertEqual(len(server.received), number)
        self.assertEqual(self.pauses, [])

    def test_there_is_an_end_to_trying_and_it_can_be_turned_off(self) -> None:
        for retries, sent in ((None, 3), (0, 1), (1, 2)):
            with flaky(99, refusal("host_unavailable", 503)) as server:
                with Skerry(server.base_url, token="sk_test", retries=retries) as skerry:
                    self.assertRaises(UnavailableError, skerry.sizes.list)
            self.assertEqual(len(server.received), sent)

    def test_a_server_that_says_when_is_obeyed_and_one_that_asks_for_long_patience_is_not_waited_for(self) -> None:
        with flaky(1, refusal("rate_limited", 429, **{"retry-after": "9"})) as server:
            with Skerry(server.base_url, token="sk_test") as skerry:
                skerry.sizes.list()
        self.assertEqual(self.pauses, [9.0])
        for text, told in (("11", 11.0), ("9" * 5000, None), ("-1", None)):
            with flaky(1, refusal("rate_limited", 429, **{"retry-after": text})) as server:
                with Skerry(server.base_url, token="sk_test", retries=0) as skerry:
                    with self.assertRaises(RateLimitedError) as raised:
                        skerry.sizes.list()
            self.assertEqual(raised.exception.retry_after_s, told)

    def test_a_server_that_is_not_there_is_an_error_with_a_remedy(self) -> None:
        with flaky(0, Handler.break_off) as server:
            address = server.base_url
        with Skerry(address, token="sk_test") as skerry, self.assertRaises(SkerryConnectionError) as raised:
            skerry.me()
        self.assertIn("skerry up", str(raised.exception))
        self.assertIsInstance(raised.exception, SkerryError)
        self.assertEqual(len(self.pauses), 2)

    def test_not_found_is_told_from_the_rest(self) -> None:
        with flaky(1, refusal("sandbox_not_found", 404)) as server, Skerry(server.base_url, token="sk_test") as skerry:
            self.assertRaises(NotFoundError, skerry.sandboxes.get, "sbx_0")

    def test_a_creation_takes_the_key_of_its_caller_where_that_can_be_one(self) -> None:
        with flaky(0, Handler.break_off) as server, Skerry(server.base_url, token="sk_test") as skerry:
            skerry.sandboxes.create(template="base", idempotency_key="order-7")
            skerry.builds.retry("bld_0", idempotency_key="order-8")
            self.assertEqual([request.headers["idempotency-key"] for request in server.received], ["order-7", "order-8"])
            for key in ("", "a b", "a\r\nx-org-id: org_1", "k" * 256, "ü"):
                with self.assertRaises(SkerryInputError):
                    skerry.sandboxes.create(template="base", idempotency_key=key)
            self.assertEqual(len(server.received), 2)


if __name__ == "__main__":
    unittest.main()

from __future__ import annotations

import io
import tempfile
import unittest
from pathlib import Path
from typing import Callable, Iterator, List

from scripted_server import SANDBOX, Handler, Received, ScriptedServer, answering
from skerry import (
    ConflictError,
    Skerry,
    SkerryApiError,
    SkerryConnectionError,
    SkerryInputError,
    SkerryTooLargeError,
    UploadContent,
)


def connected(server: ScriptedServer) -> Skerry:
    return Skerry(server.base_url, token="sk_test", organization="org_1")


class CallsTest(unittest.TestCase):
    def test_a_sandbox_in_hand_has_its_file_system(self) -> None:
        def script(handler: Handler, request: Received) -> None:
            made = SANDBOX if request.target == "/v1/sandboxes" else {"name": "x", "type": "file"}
            handler.answer_json(200, made)

        with ScriptedServer(script) as server, Skerry(server.base_url, token="sk_test") as skerry:
            sandbox = skerry.sandboxes.create(template="base")
            self.assertEqual(sandbox.files.stat("/x")["type"], "file")
            self.assertEqual(server.received[-1].target.split("?")[0], "/v1/sandboxes/sbx_0/stat/x")

    def test_a_creation_sends_what_is_named_and_nothing_else(self) -> None:
        with ScriptedServer(answering(201, SANDBOX)) as server, connected(server) as skerry:
            sandbox = skerry.sandboxes.create(template="base", env={"A": "1"}, egress={"mode": "deny_all"})
        [request] = server.received
        self.assertEqual((request.method, request.target), ("POST", "/v1/sandboxes"))
        self.assertEqual(request.json(), {"template": "base", "env": {"A": "1"}, "egress": {"mode": "deny_all"}})
        self.assertEqual(request.headers["authorization"], "Bearer sk_test")
        self.assertEqual(request.headers["x-org-id"], "org_1")
        self.assertEqual(sandbox.info["status"], "running")
        self.assertEqual(repr(sandbox), "<Sandbox sbx_0 running>")

    def test_the_end_of_the_block_destroys_a_sandbox_also_after_an_error(self) -> None:
        with ScriptedServer(answering(200, SANDBOX)) as server, connected(server) as skerry:
            with self.assertRaises(KeyError), skerry.sandboxes.create(template="base"):
                raise KeyError("mine")
        self.assertEqual([(it.method, it.target) for it in server.received[1:]], [("DELETE", "/v1/sandboxes/sbx_0")])

    def test_lists_are_read_page_by_page_as_they_are_wanted(self) -> None:
        def script(handler: Handler, request: Received) -> None:
            last = "cursor=two" in request.target
            items = [dict(SANDBOX, id="sbx_2" if last else "sbx_1")]
            handler.answer_json(200, {"items": items, "next_cursor": None if last else "two"})

        with ScriptedServer(script) as server, connected(server) as skerry:
            found = skerry.sandboxes.list(status="running", metadata={"job": "7 & 8"})
            self.assertEqual(next(found).id, "sbx_1")
            self.assertEqual(len(server.received), 1)
            self.assertEqual([sandbox.id for sandbox in found], ["sbx_2"])
            page = skerry.sandboxes.page(limit=1)
            skerry.machines.page(host="hst_1", q="job", created_after="2026-11-20")
        self.assertEqual(server.received[3].target, "/v1/machines?host=hst_1&q=job&created_after=2026-11-20")
        self.assertEqual(server.received[0].target, "/v1/sandboxes?status=running&metadata.job=7+%26+8")
        self.assertEqual((page.items[0].id, page.next_cursor), ("sbx_1", "two"))

    def test_a_page_says_how_many_there_are_where_it_is_asked_to(self) -> None:
        counts = {"running": 2, "failed": 1}
        answer: object = {"items": [], "next_cursor": None, "counts": counts}
        with ScriptedServer(answering(200, answer)) as server, connected(server) as skerry:
            sandboxes = skerry.sandboxes.page(limit=1, counts=True)
            machines = skerry.machines.page(q="job", counts=True)
        self.assertEqual((sandboxes.counts, machines.counts), (counts, counts))
        targets = [it.target for it in server.received]
        self.assertEqual(targets, ["/v1/sandboxes?limit=1&counts=true", "/v1/machines?q=job&counts=true"])

    def test_egress_rules_are_replaced_for_the_version_that_was_read(self) -> None:
        report: object = {"mode": "deny_all", "version": 3}
        with ScriptedServer(answering(200, report)) as server, connected(server) as skerry:
            self.assertEqual(skerry.sandboxes.set_egress("sbx_0", mode="deny_all", if_version=2)["version"], 3)
            skerry.machines.set_egress("mch_0", mode="deny_all")
        self.assertEqual([it.headers.get("if-match") for it in server.received], ['"2"', None])
        refusal: object = {"code": "version_mismatch", "message": "It has the version 3 now.", "context": {"version": 3}}
        with ScriptedServer(answering(412, refusal)) as server, connected(server) as skerry:
            with self.assertRaises(ConflictError) as raised:
                skerry.sandboxes.set_egress("sbx_0", mode="deny_all", if_version=2)
        self.assertEqual(raised.exception.code, "version_mismatch")

    def test_the_audit_log_is_exported_as_it_comes(self) -> None:
        def script(handler: Handler, request: Received) -> None:
            handler.answer(200, b"id,at\r\n" * 3, {"content-type": "text/csv"})

        with ScriptedServer(script) as server, connected(server) as skerry:
            with skerry.audit.export(format="csv", since="2026-11-20") as chunks:
                self.assertEqual(b"".join(chunks), b"id,at\r\n" * 3)
        self.assertEqual(server.received[0].target, "/v1/audit/export?format=csv&since=2026-11-20")

    def test_events_come_in_pages(self) -> None:
        event = {"id": "evt_1", "kind": "paused", "reason": "by request", "count": 1}
        with ScriptedServer(answering(200, {"items": [event], "next_cursor": "two"})) as server, connected(server) as skerry:
            page = skerry.sandboxes.events("sbx_0", limit=1)
            skerry.machines.events("mch_0", cursor="two")
        self.assertEqual((page.items[0]["kind"], page.next_cursor), ("paused", "two"))
        targets = [it.target for it in server.received]
        self.assertEqual(targets, ["/v1/sandboxes/sbx_0/events?limit=1", "/v1/machines/mch_0/events?cursor=two"])

    def test_the_file_system_is_changed_at_the_paths_that_were_given(self) -> None:
        info = {"path": "/a", "name": "a", "type": "file", "size": 1}
        with ScriptedServer(answering(200, info)) as server, connected(server) as skerry:
            files = skerry.sandboxes.files("sbx_0")
            self.assertEqual(files.stat("/a b", follow=True)["path"], "/a")
            files.stat("/a")
            files.list("/etc/", depth=3, limit=5)
            files.make_directory("/srv/data/", mode="0700")
            files.move("/a", "/b")
            files.set_mode("/a", "0600")
            files.remove("/a", recursive=True)
            files.sign_url("/a", method="PUT", mode="0755", expires_in="1m")
            with self.assertRaises(SkerryInputError):
                files.move("/a", "b")
            with self.assertRaises(SkerryInputError):
                files.stat("a")
            with self.assertRaises(SkerryInputError):
                files.remove("/a/../b")
        at = "/v1/sandboxes/sbx_0"
        self.assertEqual(
            [(it.method, it.target) for it in server.received],
            [
                ("GET", f"{at}/stat/a%20b?follow=true"),
                ("GET", f"{at}/stat/a"),
                ("GET", f"{at}/files/etc?list=true&depth=3&limit=5"),
                ("PUT", f"{at}/directories/srv/data?mode=0700"),
                ("PATCH", f"{at}/files/a"),
                ("PATCH", f"{at}/files/a"),
                ("DELETE", f"{at}/files/a?recursive=true"),
                ("POST", f"{at}/urls"),
            ],
        )
        signed = {"path": "/a", "method": "PUT", "mode": "0755", "expires_in": "1m"}
        self.assertEqual(server.received[7].json(), signed)
        self.assertEqual(server.received[4].json(), {"path": "/b"})

    def test_an_archive_goes_through_as_it_comes_both_ways(self) -> None:
        def script(handler: Handler, request: Received) -> None:
            handler.answer(200, b"an archive")

        with ScriptedServer(script) as server, connected(server) as skerry:
            files = skerry.sandboxes.files("sbx_0")
            files.unpack("/into", iter([b"one", b"two"]))
            with files.pack("/etc") as chunks:
                self.assertEqual(b"".join(chunks), b"an archive")
        self.assertEqual([it.target for it in server.received], [f"/v1/sandboxes/sbx_0/archives/{at}" for at in ("into", "etc")])
        self.assertEqual(server.received[0].body, b"onetwo")

    def test_a_watch_gives_its_events_and_ends_with_the_directory_or_an_error(self) -> None:
        create = b'event: create\ndata: {"event": "create", "path": "a", "type": "file"}\n\n'
        ends = [b"event: end\ndata: {}\n\n", b'event: error\ndata: {"code": "sandbox_not_running", "message": "No."}\n\n', b""]

        def script(handler: Handler, request: Received) -> None:
            handler.answer(200, b"event: keepalive\ndata: {}\n\n" + create + ends.pop(0))

        with ScriptedServer(script) as server, connected(server) as skerry:
            files = skerry.sandboxes.files("sbx_0")
            with files.watch("/work", recursive=True) as events:
                self.assertEqual([event["path"] for event in events], ["a"])
            with self.assertRaises(SkerryApiError), files.watch("/work") as events:
                list(events)
            with self.assertRaises(SkerryConnectionError), files.watch("/work") as events:
                list(events)
        self.assertEqual(server.received[0].target, "/v1/sandboxes/sbx_0/watch/work?recursive=true")

    def test_names_of_files_arrive_as_they_are_and_climb_nowhere(self) -> None:
        with ScriptedServer(answering(200, {"path": "/a", "size": 1})) as server, connected(server) as skerry:
            skerry.sandboxes.upload("sbx_0", "/a b/ü%2F?#~.txt", "x", mode="0755")
            self.assertEqual(server.received[0].target, "/v1/sandboxes/sbx_0/files/a%20b/%C3%BC%252F%3F%23~.txt?mode=0755")
            calls: List[Callable[[], object]] = [
                lambda: skerry.sandboxes.upload("sbx_0", "/a/../b", "x"),
                lambda: skerry.sandboxes.upload("sbx_0", "a", "x"),
                lambda: skerry.sandboxes.upload("sbx_0", "/a/", "x"),
                lambda: skerry.sandboxes.upload("sbx_0", "/\ud800", "x"),
                lambda: skerry.sandboxes.get(".."),
                lambda: skerry.sandboxes.get(""),
            ]
            for call in calls:
                with self.assertRaises(SkerryInputError):
                    call()
            self.assertEqual(len(server.received), 1)

    def test_every_kind_of_content_arrives_whole(self) -> None:
        large = bytes(range(256)) * 1024

        def pieces() -> Iterator[bytes]:
            yield large[:1000]
            yield large[1000:]

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "file")
            path.write_bytes(large)
            with ScriptedServer(answering(200, {"path": "/a", "size": 1})) as server, connected(server) as skerry:
                contents: List[UploadContent] = [large, path, io.BytesIO(large), pieces()]
                for content in contents:
                    skerry.sandboxes.upload("sbx_0", "/a", content)
                    self.assertEqual(server.received[-1].body, large)
                skerry.sandboxes.upload("sbx_0", "/a", "grüße")
                self.assertEqual(server.received[-1].body, "grüße".encode())
                for wrong in (io.StringIO("text"), 7, None, {"a": 1}, ["text"], [1]):
                    with self.assertRaises(SkerryInputError):
                        skerry.sandboxes.upload("sbx_0", "/a", wrong)  # type: ignore[arg-type]

    def test_permissions_that_are_none_are_told_before_anything_is_sent(self) -> None:
        with ScriptedServer(answering(200, {"path": "/a", "size": 1})) as server, connected(server) as skerry:
            for wrong in ("rwx", "0888", "", "12", 0o644):
                with self.subTest(wrong), self.assertRaises(SkerryInputError) as raised:
                    skerry.sandboxes.upload("sbx_0", "/a", "x", mode=wrong)  # type: ignore[arg-type]
                self.assertIn("0755", raised.exception.remediation)
            self.assertEqual(server.received, [])

    def test_a_sandbox_begins_at_a_snapshot_and_snapshots_are_listed_by_what_they_are_of(self) -> None:
        with ScriptedServer(answering(201, SANDBOX)) as server, connected(server) as skerry:
            skerry.sandboxes.create(snapshot="ready")
            self.assertEqual(server.received[0].json(), {"snapshot": "ready"})
        with ScriptedServer(answering(200, {"items": [], "next_cursor": None})) as server, connected(server) as skerry:
            self.assertEqual(list(skerry.snapshots.list(of="machine")), [])
            self.assertEqual(server.received[0].target, "/v1/snapshots?of=machine")

    def test_a_machine_begins_at_a_snapshot_and_is_forked(self) -> None:
        with ScriptedServer(answering(201, {"items": [{"id": "mch_1"}]})) as server, connected(server) as skerry:
            self.assertEqual(skerry.machines.fork("mch_0"), [{"id": "mch_1"}])
            skerry.machines.create(snapshot="loaded")
            skerry.machines.rollback("mch_0", snapshot="loaded")
            self.assertEqual(
                [one.json() for one in server.received], [{"count": 1}, {"snapshot": "loaded"}, {"snapshot": "loaded"}]
            )
            self.assertEqual(server.received[0].target, "/v1/machines/mch_0/fork")

    def test_a_creation_without_a_template_says_which_to_give(self) -> None:
        with ScriptedServer(answering(201, SANDBOX)) as server, connected(server) as skerry:
            calls: List[Callable[[], object]] = [
                lambda: skerry.sandboxes.create(),
                lambda: skerry.sandboxes.create("base"),  # type: ignore[misc]
                lambda: skerry.sandboxes.create(template=""),
                lambda: skerry.machines.create(template=None),
            ]
            for call in calls:
                with self.assertRaises(SkerryInputError) as raised:
                    call()
                self.assertIn('create(template="base")', raised.exception.remediation)
            self.assertEqual(server.received, [])

    def test_a_download_is_bounded_and_a_stream_of_it_is_not(self) -> None:
        content = b"x" * 100_000
        script = lambda handler, _: handler.answer(200, content)  # noqa: E731
        with ScriptedServer(script) as server, connected(server) as skerry:
            self.assertEqual(skerry.sandboxes.download("sbx_0", "/a"), content)
            with self.assertRaises(SkerryTooLargeError) as raised:
                skerry.sandboxes.download("sbx_0", "/a", max_bytes=99_999)
            self.assertEqual(raised.exception.max_bytes, 99_999)
            with skerry.sandboxes.download_stream("sbx_0", "/a") as chunks:
                self.assertEqual(b"".join(chunks), content)

    def test_none_is_sent_where_it_says_something(self) -> None:
        with ScriptedServer(answering(200, {})) as server, connected(server) as skerry:
            skerry.organizations.set_limits("org_2", {"quota_sandboxes": None})
            skerry.organizations.update("org_2", name="new")
            skerry.machines.start("mch_0")
            skerry.hosts.remove("hst_0", force=True)
        self.assertEqual(server.received[0].json(), {"quota_sandboxes": None})
        self.assertEqual(server.received[1].json(), {"name": "new"})
        self.assertEqual(server.received[2].body, b"")
        self.assertEqual(server.received[3].target, "/v1/hosts/hst_0?force=true")


if __name__ == "__main__":
    unittest.main()

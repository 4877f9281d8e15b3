from __future__ import annotations

import json
import unittest
from typing import List

from scripted_server import Handler, Received, ScriptedServer
from skerry import FollowedChange, Skerry, SkerryApiError


def told(event: str, cursor: str, data: object) -> str:
    return f"event: {event}\nid: {cursor}\ndata: {json.dumps(data)}\n\n"


class EventsTest(unittest.TestCase):
    def test_a_reader_goes_on_where_it_was_when_the_connection_breaks(self) -> None:
        streams = [
            told("synced", "c1", {"cursor": "c1", "now": "2026-11-20T16:21:09.123Z"})
            + told("sandbox", "c2", {"kind": "sandbox", "id": "one", "version": 1, "resource": None}),
            told("reset", "c9", {"reason": "too_old", "cursor": "c9"}),
            told("error", "", {"code": "unauthorized", "message": "The token was revoked."}),
        ]

        def script(handler: Handler, _: Received) -> None:
            handler.begin_events()
            handler.send_text(streams.pop(0))

        with ScriptedServer(script) as server, Skerry(server.base_url, token="sk_test") as skerry:
            found: List[FollowedChange] = []
            with self.assertRaises(SkerryApiError) as raised, skerry.events(kinds=["sandbox", "host"]) as events:
                for change in events:
                    found.append(change)
            self.assertEqual(raised.exception.code, "unauthorized")
            self.assertEqual(
                [(change["type"], change["cursor"]) for change in found],
                [("synced", "c1"), ("changed", "c2"), ("reset", "c9")],
            )
            self.assertEqual(
                [received.target for received in server.received],
                ["/v1/events?kind=sandbox%2Chost"]
                + [f"/v1/events?after={cursor}&kind=sandbox%2Chost" for cursor in ("c2", "c9")],
            )

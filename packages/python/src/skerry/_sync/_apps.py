# Made of the asynchronous half by setup/write-clients.ts. Do not edit.
"""Apps by id or name: groups of instances that run a release."""

from __future__ import annotations

import time
import random
from typing import Any, Generator, Dict, Optional, Tuple, cast

from .._event_stream import EventReader, EventStreamError
from .._paths import segment
from .._request import Request
from ..errors import SkerryApiError, SkerryConnectionError, SkerryError
from ..types import AppLogLine, AppLogs, AppLogsLinesLevel
from ._generated._apps import GeneratedApps
from ._streams import Stream

FIRST_PAUSE_S = 0.25
PAUSE_MAX_S = 30.0


class Apps(GeneratedApps):
    """Apps of the organization."""

    def logs(
        self,
        id: str,
        *,
        lines: Optional[int] = None,
        since: Optional[str] = None,
        until: Optional[str] = None,
        grep: Optional[str] = None,
        group: Optional[str] = None,
        instance: Optional[str] = None,
        release: Optional[int] = None,
        deploy: Optional[str] = None,
        level: Optional[AppLogsLinesLevel] = None,
    ) -> AppLogs:
        """Lines of all its instances by time, also of those that are gone."""
        query = {
            "lines": lines,
            "since": since,
            "until": until,
            "grep": grep,
            "group": group,
            "instance": instance,
            "release": release,
            "deploy": deploy,
            "level": level,
        }
        return self._http.json(Request("GET", f"{_at(id)}/logs", query=query), AppLogs)

    def follow_logs(
        self,
        id: str,
        *,
        lines: Optional[int] = None,
        since: Optional[str] = None,
        grep: Optional[str] = None,
        group: Optional[str] = None,
        instance: Optional[str] = None,
        release: Optional[int] = None,
        deploy: Optional[str] = None,
        level: Optional[AppLogsLinesLevel] = None,
    ) -> Stream[AppLogLine]:
        """The last lines and then each one as it comes, over deploys, broken connections and restarts of the server,
        each once, until the app is gone."""
        query = {
            "lines": lines,
            "since": since,
            "grep": grep,
            "group": group,
            "instance": instance,
            "release": release,
            "deploy": deploy,
            "level": level,
        }
        return Stream(self._follow(f"{_at(id)}/logs", query))

    def _follow(self, path: str, query: Dict[str, Any]) -> Generator[AppLogLine, None, None]:
        cursor: Optional[str] = None
        places: Dict[str, str] = {}
        failures = 0
        while True:
            after = None if cursor is None else cursor + "".join(f",{one}:{place}" for one, place in places.items())
            told = self._stream_once(path, {**query, "follow": True, "after": after})
            try:
                for event, data in told:
                    if event == "end":
                        return
                    if event == "line":
                        line = cast(AppLogLine, data)
                        places[line["machine_id"]] = line["position"]
                        failures = 0
                        yield line
                    elif event in ("synced", "reset"):
                        cursor = cast(str, data["cursor"])
                        places = {}
            except SkerryError as error:
                # Lines that came before the first cursor would come once more.
                if cursor is None or not _is_passing(error):
                    raise
            finally:
                told.close()
            # Half of it by chance, so that clients that failed together do not come back together.
            pause_s = min(PAUSE_MAX_S, FIRST_PAUSE_S * 2 ** min(failures, 10))
            failures += 1
            time.sleep(pause_s * (0.5 + random.random() / 2))

    def _stream_once(self, path: str, query: Dict[str, Any]) -> Generator[Tuple[str, Any], None, None]:
        request = Request("GET", path, query=query, headers={"accept": "text/event-stream"})
        chunks = self._http.chunks(self._http.open(request))
        reader = EventReader()
        try:
            for chunk in chunks:
                for event in reader.feed(chunk):
                    if event.event == "error":
                        raise event.error()
                    if event.event in ("line", "synced", "reset", "end"):
                        yield event.event, event.json()
        except EventStreamError as error:
            raise self._http.trouble(f"it sent a stream that is not one of Skerry ({error})") from error
        finally:
            chunks.close()


def _is_passing(error: SkerryError) -> bool:
    if isinstance(error, SkerryConnectionError):
        return True
    return isinstance(error, SkerryApiError) and (error.status >= 500 or error.status == 429)


def _at(id: str) -> str:
    return f"/v1/apps/{segment(id)}"

"""Apps. Written by setup/write-clients.ts from the API's declarations. Do not edit."""

from __future__ import annotations

from typing import Iterator, List, Mapping, Optional, Sequence, Union, cast

from ..._page import Page
from ..._paths import segment
from ..._request import Request
from ...types import (
    App,
    AppFailures,
    AppList,
    AppMetrics,
    AppStatus,
    AppUpdateRequest,
    Deploy,
    DeployCreateRequest,
    DeployList,
    Machine,
    Release,
    ReleaseList,
    Route,
    RouteList,
    Secret,
    SecretDeleted,
    SecretList,
    SizeName,
)
from .._http import Http
from .._streams import every_item
from .._wait import WAIT_S, wait_for_status


class GeneratedApps:
    def __init__(self, http: Http) -> None:
        self._http = http

    def create(
        self, *, name: str, scale: Optional[Mapping[str, int]] = None, idempotency_key: Optional[str] = None
    ) -> App:
        """Create an app. It runs nothing before its first deploy.

        Needs the scope ``apps:write``.

        Errors of its own: ``name_taken``, ``quota_exceeded``.
        """
        return self._http.json(
            Request(
                "POST",
                "/v1/apps",
                json={"name": name, "scale": scale},
                creates=True,
                key=idempotency_key,
            ),
            App,
        )

    def list(self) -> Iterator[App]:
        """List apps. Those of the organization, newest first.

        Needs the scope ``apps:read``.
        """
        pages = every_item(lambda cursor: self.page(cursor=cursor))
        for item in pages:
            yield item

    def page(self, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> Page[App]:
        """Reads one page of ``list``: ``limit`` items (default 50, at most 500) after the page whose ``next_cursor`` is ``cursor``."""
        found = self._http.json(Request("GET", "/v1/apps", query={"limit": limit, "cursor": cursor}), AppList)
        return Page(found["items"], found["next_cursor"])

    def get(self, id: str) -> App:
        """Get an app. With its last deploy, and its instances.

        Needs the scope ``apps:read``.

        Errors of its own: ``app_not_found``.
        """
        return self._http.json(Request("GET", f"/v1/apps/{segment(id)}"), App)

    def update(self, id: str, changes: AppUpdateRequest) -> App:
        """Change an app. A scale is carried out at once, with instances of the release that is live; variables wait
        for the next deploy. A receiver of logs has to be on the Internet, unless the operator opens a private
        network; what it does not take is tried again, and ``log_forward.fault`` says why.

        Needs the scope ``apps:write``.

        Errors of its own: ``app_not_found``, ``app_deleting``, ``invalid_env``, ``secret_not_found``.
        """
        return self._http.json(
            Request(
                "PATCH",
                f"/v1/apps/{segment(id)}",
                json=cast(Mapping[str, object], changes),
                sends_none=True,
            ),
            App,
        )

    def delete(self, id: str) -> App:
        """Delete an app. Its instances finish the requests that they have, and end; then it is gone, with its
        releases.

        Needs the scope ``apps:write``.

        Errors of its own: ``app_not_found``.
        """
        return self._http.json(Request("DELETE", f"/v1/apps/{segment(id)}"), App)

    def deploy(self, id: str, request: DeployCreateRequest, *, idempotency_key: Optional[str] = None) -> Deploy:
        """Deploy a release. Makes the next release, and brings instances of it in the place of those before, which go
        on serving until the new ones have passed their checks. What the request leaves out is that of the release
        before, or of ``release``. It takes over variables that wait for a deploy, unless ``release`` is another one
        than the live one. A deploy that is under way is superseded. With secrets it needs ``secrets:read`` as well.

        Needs the scope ``apps:write``.

        Errors of its own: ``app_not_found``, ``app_deleting``, ``release_not_found``, ``template_not_found``,
        ``invalid_manifest``, ``invalid_env``, ``invalid_cidr``, ``invalid_port`` and others.
        """
        return self._http.json(
            Request(
                "POST",
                f"/v1/apps/{segment(id)}/deploys",
                json=cast(Mapping[str, object], request),
                sends_none=True,
                creates=True,
                key=idempotency_key,
            ),
            Deploy,
        )

    def deploys(self, id: str) -> Iterator[Deploy]:
        """List deploys of an app. Newest first. Those before the last hundred are forgotten.

        Needs the scope ``apps:read``.

        Errors of its own: ``app_not_found``.
        """
        pages = every_item(lambda cursor: self.deploys_page(id, cursor=cursor))
        for item in pages:
            yield item

    def deploys_page(
        self, id: str, *, limit: Optional[int] = None, cursor: Optional[str] = None
    ) -> Page[Deploy]:
        """Reads one page of ``deploys``: ``limit`` items (default 50, at most 500) after the page whose ``next_cursor`` is ``cursor``."""
        found = self._http.json(
            Request(
                "GET",
                f"/v1/apps/{segment(id)}/deploys",
                query={"limit": limit, "cursor": cursor},
            ),
            DeployList,
        )
        return Page(found["items"], found["next_cursor"])

    def get_deploy(self, id: str, deploy: str) -> Deploy:
        """Get a deploy.

        Needs the scope ``apps:read``.

        Errors of its own: ``app_not_found``, ``deploy_not_found``.
        """
        return self._http.json(Request("GET", f"/v1/apps/{segment(id)}/deploys/{segment(deploy)}"), Deploy)

    def cancel_deploy(self, id: str, deploy: str) -> Deploy:
        """Cancel a deploy. What it has started is ended, and the release before goes on.

        Needs the scope ``apps:write``.

        Errors of its own: ``app_not_found``, ``deploy_not_found``, ``deploy_over``.
        """
        return self._http.json(
            Request("POST", f"/v1/apps/{segment(id)}/deploys/{segment(deploy)}/cancel"),
            Deploy,
        )

    def metrics(self, id: str, *, since: Optional[str] = None, step: Optional[str] = None) -> AppMetrics:
        """Get the metrics of an app. Requests of each group and release over time, as the proxies of hosts have
        counted them; kept for 24 hours.

        Needs the scope ``apps:read``.

        Errors of its own: ``app_not_found``, ``invalid_duration``, ``timeout_too_long``.
        """
        return self._http.json(
            Request("GET", f"/v1/apps/{segment(id)}/metrics", query={"since": since, "step": step}),
            AppMetrics,
        )

    def failures(self, id: str, *, since: Optional[str] = None) -> AppFailures:
        """List failed requests of an app. Those that were answered with 5xx, by the app or by the proxies, with whose
        fault it was. Hosts keep 256 KiB of each app for a week, and not all where a route fails more than five
        times in a second.

        Needs the scope ``apps:read``.

        Errors of its own: ``app_not_found``.
        """
        return self._http.json(
            Request("GET", f"/v1/apps/{segment(id)}/failures", query={"since": since}),
            AppFailures,
        )

    def create_route(
        self,
        id: str,
        *,
        group: str,
        host: Optional[str] = None,
        path_prefix: Optional[str] = None,
        port: Optional[int] = None,
        strip_prefix: Optional[bool] = None,
        sticky: Optional[bool] = None,
        rate_limit: Optional[int] = None,
        concurrency: Optional[int] = None,
        idempotency_key: Optional[str] = None,
    ) -> Route:
        """Create a route of an app. Beside the one that each app has by itself: all requests for its name go to its
        first service.

        Needs the scope ``apps:write``.

        Errors of its own: ``app_not_found``, ``app_deleting``, ``route_taken``, ``quota_exceeded``.
        """
        return self._http.json(
            Request(
                "POST",
                f"/v1/apps/{segment(id)}/routes",
                json={
                    "host": host,
                    "path_prefix": path_prefix,
                    "group": group,
                    "port": port,
                    "strip_prefix": strip_prefix,
                    "sticky": sticky,
                    "rate_limit": rate_limit,
                    "concurrency": concurrency,
                },
                creates=True,
                key=idempotency_key,
            ),
            Route,
        )

    def routes(self, id: str) -> Iterator[Route]:
        """List routes of an app.

        Needs the scope ``apps:read``.

        Errors of its own: ``app_not_found``.
        """
        pages = every_item(lambda cursor: self.routes_page(id, cursor=cursor))
        for item in pages:
            yield item

    def routes_page(self, id: str, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> Page[Route]:
        """Reads one page of ``routes``: ``limit`` items (default 50, at most 500) after the page whose ``next_cursor`` is ``cursor``."""
        found = self._http.json(
            Request(
                "GET",
                f"/v1/apps/{segment(id)}/routes",
                query={"limit": limit, "cursor": cursor},
            ),
            RouteList,
        )
        return Page(found["items"], found["next_cursor"])

    def delete_route(self, id: str, route: str) -> None:
        """Delete a route of an app.

        Needs the scope ``apps:write``.

        Errors of its own: ``app_not_found``, ``route_not_found``.
        """
        self._http.done(Request("DELETE", f"/v1/apps/{segment(id)}/routes/{segment(route)}"))

    def releases(self, id: str) -> Iterator[Release]:
        """List releases of an app. Newest first. Those before the last twenty are forgotten, but for those that run.

        Needs the scope ``apps:read``.

        Errors of its own: ``app_not_found``.
        """
        pages = every_item(lambda cursor: self.releases_page(id, cursor=cursor))
        for item in pages:
            yield item

    def releases_page(
        self, id: str, *, limit: Optional[int] = None, cursor: Optional[str] = None
    ) -> Page[Release]:
        """Reads one page of ``releases``: ``limit`` items (default 50, at most 500) after the page whose ``next_cursor`` is ``cursor``."""
        found = self._http.json(
            Request(
                "GET",
                f"/v1/apps/{segment(id)}/releases",
                query={"limit": limit, "cursor": cursor},
            ),
            ReleaseList,
        )
        return Page(found["items"], found["next_cursor"])

    def secrets(self, id: str) -> List[Secret]:
        """List secrets of an app. Those of the app alone, without their values, which no call tells.

        Needs the scope ``secrets:read``.

        Errors of its own: ``app_not_found``.
        """
        found = self._http.json(Request("GET", f"/v1/apps/{segment(id)}/secrets"), SecretList)
        return found["items"]

    def set_secret(self, id: str, name: str, *, value: str) -> Secret:
        """Set a secret of an app. Adds a version with this value. Instances of the next deploy have it in their
        environment, also where the organization has a secret of the name. In the place of JSON the request can have
        the value itself, as ``application/octet-stream``.

        Needs the scope ``secrets:write``.

        Errors of its own: ``app_not_found``, ``app_deleting``, ``quota_exceeded``, ``secret_damaged``,
        ``secrets_unavailable``.
        """
        return self._http.json(
            Request("PUT", f"/v1/apps/{segment(id)}/secrets/{segment(name)}", json={"value": value}),
            Secret,
        )

    def delete_secret(self, id: str, name: str) -> SecretDeleted:
        """Delete a secret of an app. With all its versions. Instances that have it keep it until the next deploy; the
        answer names them.

        Needs the scope ``secrets:write``.

        Errors of its own: ``app_not_found``, ``secret_not_found``.
        """
        return self._http.json(
            Request("DELETE", f"/v1/apps/{segment(id)}/secrets/{segment(name)}"),
            SecretDeleted,
        )

    def create_one_off(
        self, id: str, *, size: Optional[SizeName] = None, idempotency_key: Optional[str] = None
    ) -> Machine:
        """Create a machine for commands. A machine with the template, the environment and the secrets of the release
        that is live, in which nothing of the app runs: for commands by hand. It ends when it is deleted, or when
        nothing has run in it for ten minutes. With secrets it needs ``secrets:read`` as well.

        Needs the scope ``apps:write``.

        Errors of its own: ``host_unavailable``, ``guest_failed``, ``guest_timeout``, ``secret_damaged``,
        ``secrets_unavailable``, ``invalid_env``, ``host_draining``, ``no_capacity`` and others.
        """
        return self._http.json(
            Request(
                "POST",
                f"/v1/apps/{segment(id)}/one-offs",
                json={"size": size},
                creates=True,
                key=idempotency_key,
            ),
            Machine,
        )

    def delete_one_off(self, id: str, machine: str) -> None:
        """Delete a machine for commands.

        Needs the scope ``apps:write``.

        Errors of its own: ``app_not_found``, ``machine_not_found``.
        """
        self._http.done(Request("DELETE", f"/v1/apps/{segment(id)}/one-offs/{segment(machine)}"))

    def wait(
        self, id: str, until: Union[AppStatus, Sequence[AppStatus]], *, timeout_s: float = WAIT_S
    ) -> App:
        """Returns when its ``status`` is ``until``, or one of them. Raises ``SkerryStatusError`` where it has ended in another one, and
        after ``timeout_s`` seconds."""
        return wait_for_status("app", self.get, id, until, timeout_s)

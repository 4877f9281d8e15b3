// The proxy in front of apps of a fake host: it takes documents as a host does, and has the sessions that a
// test says.

import type {
  EdgeDocument,
  EdgeFailure,
  EdgeFailures,
  EdgeState,
  EdgeTraffic,
} from "@skerry/contract/host-api/edge";
import { readBody, sendJson, type HostCall } from "./fake-http.ts";

export class FakeEdge {
  document: EdgeDocument = { version: 0, backends: [], routes: [] };
  /** Sessions of draining instances, by VM; those that are left out have none. */
  readonly sessions = new Map<string, number>();
  fault: string | null = null;
  /** Sums of requests. */
  traffic: EdgeTraffic["instances"] = [];
  answers: NonNullable<EdgeTraffic["routes"]> = [];
  /** Requests that it has answered with 5xx. */
  failures: EdgeFailure[] = [];

  /** Undefined: the call is not about it. */
  serve({ request, response, url }: HostCall): Promise<void> | undefined {
    if (url.pathname === "/edge/traffic")
      return (async () =>
        sendJson(response, 200, { instances: this.traffic, routes: this.answers } satisfies EdgeTraffic))();
    if (url.pathname === "/edge/failures")
      return (async () => {
        const since = Number(url.searchParams.get("since"));
        const failures = this.failures.filter(({ at }) => Date.parse(at) >= since);
        sendJson(response, 200, { failures } satisfies EdgeFailures);
      })();
    if (url.pathname !== "/edge") return undefined;
    return (async () => {
      if (request.method === "PUT") {
        const document = await readBody<EdgeDocument>(request);
        if (document.version >= this.document.version) this.document = document;
      }
      sendJson(response, 200, this.#state());
    })();
  }

  /** VMs that requests go to, by backend without the app's id. */
  served(): Record<string, string[]> {
    const parts = this.document.backends.map(({ id, instances }) => [
      id.split(":")[1] ?? "",
      instances.filter(({ state }) => state === "serving").map(({ vm }) => vm),
    ]);
    return Object.fromEntries(parts) as Record<string, string[]>;
  }

  #state(): EdgeState {
    const { version, backends } = this.document;
    return {
      version: this.fault === null ? version : 0,
      fault: this.fault,
      instances: backends.flatMap(({ id, instances }) =>
        instances.map(({ vm, execution_id, port, state }) => ({
          ...{ backend: id, vm, execution_id, port, status: state },
          sessions: state === "draining" ? (this.sessions.get(vm) ?? 0) : 0,
        })),
      ),
    };
  }
}

import { Compile } from "typebox/compile";
import { EdgeFailures, EdgeState, EdgeTraffic, type EdgeDocument } from "@skerry/contract/host-api/edge";
import { Deadline } from "./deadline.ts";
import type { HostTransport } from "./host-transport.ts";

/** The proxy may have to begin anew. */
const SERVE_DEADLINE_MS = 30_000;
const CALL_DEADLINE_MS = 10_000;
const states = Compile(EdgeState);
const traffics = Compile(EdgeTraffic);
const failuresShape = Compile(EdgeFailures);

export class EdgeCalls {
  readonly #transport: HostTransport;

  constructor(transport: HostTransport) {
    this.#transport = transport;
  }

  /** Has the host serve the document, unless it knows a later one. */
  serve(document: EdgeDocument, stop?: AbortSignal): Promise<EdgeState> {
    const call = { method: "PUT", path: "/edge", json: document } as const;
    return this.#transport.json(call, states, new Deadline(SERVE_DEADLINE_MS, stop));
  }

  traffic(stop?: AbortSignal): Promise<EdgeTraffic> {
    return this.#transport.json(
      { method: "GET", path: "/edge/traffic" },
      traffics,
      new Deadline(CALL_DEADLINE_MS, stop),
    );
  }

  /** Requests of the app that were answered with 5xx since then. */
  failures(app: string, since: Date, stop?: AbortSignal): Promise<EdgeFailures> {
    const query = new URLSearchParams({ app, since: String(since.getTime()) });
    return this.#transport.json(
      { method: "GET", path: `/edge/failures?${query.toString()}` },
      failuresShape,
      new Deadline(CALL_DEADLINE_MS, stop),
    );
  }

  state(stop?: AbortSignal): Promise<EdgeState> {
    return this.#transport.json(
      { method: "GET", path: "/edge" },
      states,
      new Deadline(CALL_DEADLINE_MS, stop),
    );
  }
}

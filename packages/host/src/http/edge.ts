import { EdgeDocument, type EdgeState, type EdgeTraffic } from "@skerry/contract/host-api/edge";
import type { Host } from "../app/host.ts";
import type { HostServer } from "./conventions.ts";

/** Bound for a document with as many routes and backends as one may have. */
const BODY_MAX_BYTES = 32 * 1024 * 1024;

export function registerEdge(server: HostServer, { edge }: Host): void {
  server.get("/edge", (): Promise<EdgeState> => edge.state());

  server.get("/edge/traffic", (): Promise<EdgeTraffic> => edge.traffic());

  server.put("/edge", { bodyLimit: BODY_MAX_BYTES, schema: { body: EdgeDocument } }, (request) =>
    edge.apply(request.body),
  );
}

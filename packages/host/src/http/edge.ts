import {
  EdgeDocument,
  type EdgeFailures,
  type EdgeState,
  type EdgeTraffic,
} from "@skerry/contract/host-api/edge";
import { Type } from "typebox";
import type { Host } from "../app/host.ts";
import type { HostServer } from "./conventions.ts";

/** Bound for a document with as many routes and backends as one may have. */
const BODY_MAX_BYTES = 32 * 1024 * 1024;

const FailuresQuery = Type.Object({ app: Type.String(), since: Type.Integer({ minimum: 0 }) });

export function registerEdge(server: HostServer, { edge }: Host): void {
  server.get("/edge", (): Promise<EdgeState> => edge.state());

  server.get("/edge/traffic", (): Promise<EdgeTraffic> => edge.traffic());

  server.get(
    "/edge/failures",
    { schema: { querystring: FailuresQuery } },
    (request): Promise<EdgeFailures> => {
      const { app, since } = request.query;
      return edge.failures(app, since);
    },
  );

  server.put("/edge", { bodyLimit: BODY_MAX_BYTES, schema: { body: EdgeDocument } }, (request) =>
    edge.apply(request.body),
  );
}

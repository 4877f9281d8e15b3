import { Status } from "@skerry/contract/platform";
import type { Context } from "../context.ts";
import { getStatus } from "./status.ts";
import { callerOf } from "../api/authenticate-hook.ts";
import type { Routes } from "../http/routes.ts";
import { ref } from "../http/schemas.ts";

export function statusRoutes(context: Context): Routes {
  return (app, _options, done) => {
    app.get(
      "/v1/status",
      {
        schema: {
          operationId: "getStatus",
          tags: ["platform"],
          summary: "What the organization has, by status, and how many hosts there are for it",
          response: { 200: ref(Status) },
        },
      },
      (request) => getStatus(context, callerOf(request)),
    );
    done();
  };
}

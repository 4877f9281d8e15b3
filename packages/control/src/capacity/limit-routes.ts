import { Limits } from "@skerry/contract/limits-report";
import type { Context } from "../context.ts";
import { limitsReport } from "./quotas.ts";
import { callerOf } from "../api/authenticate-hook.ts";
import type { Routes } from "../http/routes.ts";
import { ref } from "../http/schemas.ts";

export function limitRoutes(context: Context): Routes {
  return (app, _options, done) => {
    app.get(
      "/v1/limits",
      {
        schema: {
          operationId: "getLimits",
          tags: ["orgs"],
          summary: "The limits of the organization, and how much of each quota is taken",
          response: { 200: ref(Limits) },
        },
      },
      (request) => limitsReport(context, callerOf(request)),
    );
    done();
  };
}

import { Limits } from "@skerry/contract/limits-report";
import type { Context } from "../services/context.ts";
import { limitsReport } from "../services/quotas.ts";
import { callerOf } from "./auth.ts";
import type { Routes } from "./routes.ts";
import { ref } from "./schemas.ts";

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

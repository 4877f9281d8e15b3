import { EgressReport, EgressRequest } from "@skerry/contract/egress";
import type { Context } from "../services/context.ts";
import { getEgress, setEgress } from "../services/egress.ts";
import { callerOf } from "./auth.ts";
import type { Routes } from "./routes.ts";
import { SandboxParams } from "./sandboxes.ts";
import { errorAnswers, ref } from "./schemas.ts";

/** What a sandbox may reach, and what it tried. */
export function egressRoutes(context: Context): Routes {
  return (app, _options, done) => {
    app.put(
      "/v1/sandboxes/:id/egress",
      {
        schema: {
          operationId: "setSandboxEgress",
          tags: ["sandboxes"],
          summary: "Replace the egress rules of a running sandbox; they are in force when the answer comes",
          params: SandboxParams,
          body: ref(EgressRequest),
          response: { 200: ref(EgressReport), ...errorAnswers },
        },
      },
      (request) => setEgress(context, callerOf(request), { id: request.params.id, request: request.body }),
    );
    app.get(
      "/v1/sandboxes/:id/egress",
      {
        schema: {
          operationId: "getSandboxEgress",
          tags: ["sandboxes"],
          summary: "Egress rules, traffic and the last denied destinations of a sandbox",
          params: SandboxParams,
          response: { 200: ref(EgressReport), ...errorAnswers },
        },
      },
      (request) => getEgress(context, callerOf(request), request.params.id),
    );
    done();
  };
}

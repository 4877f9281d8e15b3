import { EgressReport, EgressRequest } from "@skerry/contract/egress";
import type { Context } from "../context.ts";
import { getEgress, setEgress } from "./egress.ts";
import { callerOf } from "../api/authenticate-hook.ts";
import type { Routes } from "../http/routes.ts";
import { ref } from "../http/schemas.ts";
import { vmParams, type VmResource } from "./vm-resource.ts";

/** What a microVM may reach, and what it tried. */
export function egressRoutes(context: Context, resource: VmResource): Routes {
  const { kind, operations, path, tag } = resource;
  const params = vmParams(resource.kind.noun);
  return (app, _options, done) => {
    app.put(
      `${path}/:id/egress`,
      {
        schema: {
          operationId: operations.setEgress,
          tags: [tag],
          summary: `Replace the egress rules of a running ${kind.noun}; they are in force when the answer comes`,
          params,
          body: ref(EgressRequest),
          response: { 200: ref(EgressReport) },
        },
      },
      (request) =>
        setEgress(context, callerOf(request), { kind, id: request.params.id, request: request.body }),
    );
    app.get(
      `${path}/:id/egress`,
      {
        schema: {
          operationId: operations.getEgress,
          tags: [tag],
          summary: `Egress rules, traffic and the last denied destinations of a ${kind.noun}`,
          params,
          response: { 200: ref(EgressReport) },
        },
      },
      (request) => getEgress(context, callerOf(request), { kind, id: request.params.id }),
    );
    done();
  };
}

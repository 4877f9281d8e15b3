import { Host } from "@skerry/contract/hosts";
import type { Context } from "../context.ts";
import { HostPath } from "../hosts/host-routes.ts";
import type { Routes } from "../http/routes.ts";
import { ref } from "../http/schemas.ts";
import { activateHost, drainHost } from "./drain.ts";

export function drainRoutes(context: Context): Routes {
  return (app, _options, done) => {
    app.post(
      "/v1/hosts/:id/drain",
      {
        schema: {
          operationId: "drainHost",
          tags: ["hosts"],
          summary: "Give the host no new VMs and move those that it has to other hosts",
          description:
            "Answers at once; the host is in `maintenance` when the last one has left. A host that is offline is drained when it is back.",
          params: HostPath,
          response: { 200: ref(Host) },
        },
      },
      (request) => drainHost(context, request.params.id),
    );
    app.post(
      "/v1/hosts/:id/activate",
      {
        schema: {
          operationId: "activateHost",
          tags: ["hosts"],
          summary: "Let the host have VMs again: cancels a drain, ends maintenance",
          params: HostPath,
          response: { 200: ref(Host) },
        },
      },
      (request) => activateHost(context, request.params.id),
    );
    done();
  };
}

import { Type } from "typebox";
import { PageQuery } from "@skerry/contract/common";
import { Host, HostList } from "@skerry/contract/hosts";
import type { Context } from "../context.ts";
import { activateHost, drainHost, getHost, listHosts } from "./host-service.ts";
import type { Routes } from "../http/routes.ts";
import { ref } from "../http/schemas.ts";

const HostPath = Type.Object({ id: Type.String() });

export function hostRoutes(context: Context): Routes {
  return (app, _options, done) => {
    app.get(
      "/v1/hosts",
      {
        schema: {
          operationId: "listHosts",
          tags: ["hosts"],
          summary: "The machines that VMs run on, newest first",
          querystring: PageQuery,
          response: { 200: ref(HostList) },
        },
      },
      (request) => listHosts(context, request.query),
    );
    app.get(
      "/v1/hosts/:id",
      {
        schema: {
          operationId: "getHost",
          tags: ["hosts"],
          summary: "One host: how it is, what it has, and what is taken of it",
          params: HostPath,
          response: { 200: ref(Host) },
        },
      },
      (request) => getHost(context, request.params.id),
    );
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

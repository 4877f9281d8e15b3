import { Type } from "typebox";
import { PageQuery } from "@skerry/contract/common";
import { Host, HostList } from "@skerry/contract/hosts";
import type { Context } from "../context.ts";
import { getHost, listHosts } from "./host-service.ts";
import type { Routes } from "../http/routes.ts";
import { ref } from "../http/schemas.ts";

export const HostPath = Type.Object({ id: Type.String() });

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
    done();
  };
}

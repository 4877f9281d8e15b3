import { Type } from "typebox";
import type { Context } from "../context.ts";
import { removeHost } from "./host-removal.ts";
import type { Routes } from "../http/routes.ts";

export function hostRemovalRoute(context: Context): Routes {
  return (app, _options, done) => {
    app.delete(
      "/v1/hosts/:id",
      {
        schema: {
          operationId: "removeHost",
          tags: ["hosts"],
          summary: "End the membership of a host that has joined: control trusts it no more",
          description:
            "What ran on it has failed, and does not come back; machines start anew elsewhere by their policy. Drain it first to lose nothing.",
          params: Type.Object({ id: Type.String() }),
          querystring: Type.Object(
            {
              force: Type.Optional(
                Type.Boolean({ default: false, description: "Also with sandboxes and machines on it." }),
              ),
            },
            { additionalProperties: false },
          ),
          response: { 204: Type.Null({ description: "It is none of our hosts." }) },
        },
      },
      async (request, reply) => {
        await removeHost(context, request.params.id, { force: request.query.force === true });
        return reply.code(204).send(null);
      },
    );
    done();
  };
}

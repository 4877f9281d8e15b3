import { Me } from "@skerry/contract/organizations";
import type { Context } from "../context.ts";
import { describeCaller } from "./organization-service.ts";
import { callerOf } from "../api/authenticate-hook.ts";
import type { Routes } from "../http/routes.ts";
import { ref } from "../http/schemas.ts";

export function meRoutes(context: Context): Routes {
  return (app, _options, done) => {
    app.get(
      "/v1/auth/me",
      {
        schema: {
          operationId: "getMe",
          tags: ["tokens"],
          summary: "Who is calling, for which organization, and what the token can do there",
          response: { 200: ref(Me) },
        },
      },
      (request) => describeCaller(context, callerOf(request)),
    );
    done();
  };
}

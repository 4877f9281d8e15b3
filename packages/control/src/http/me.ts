import { Me } from "@skerry/contract/organizations";
import type { Context } from "../services/context.ts";
import { describeCaller } from "../services/organizations.ts";
import { callerOf } from "./auth.ts";
import type { Routes } from "./routes.ts";
import { ref } from "./schemas.ts";

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

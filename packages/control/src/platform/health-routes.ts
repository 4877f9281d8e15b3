import { Health } from "@skerry/contract/platform";
import type { Routes } from "../http/routes.ts";
import { ref } from "../http/schemas.ts";

/** Says that this process answers. It asks nobody: a slow database must not make a supervisor restart us. */
export const healthRoutes: Routes = (app, _options, done) => {
  app.get(
    "/v1/health",
    {
      schema: {
        operationId: "getHealth",
        tags: ["platform"],
        summary: "Whether the control plane is running",
        response: { 200: ref(Health) },
      },
    },
    () => ({ status: "healthy" }) as const,
  );
  done();
};

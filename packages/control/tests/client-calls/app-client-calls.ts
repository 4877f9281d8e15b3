import type { OperationId } from "../../src/app/operations.ts";
import { expect } from "vitest";
import { leftOut, type ClientCall } from "./client-call.ts";

export const appClientCalls = {
  createApp: { cli: "app create {said.name} --json" },
  listApps: { cli: "app list --json" },
  getApp: { cli: "app show {id} --json" },
  updateApp: {
    cli: "app scale {id} web=2",
    gives: { cli: expect.stringMatching(/^a-\S+ +http:\/\/a-\S+\.localhost/) },
  },
  deleteApp: { cli: "app destroy {id}", gives: { cli: expect.stringMatching(/is being deleted\n$/) } },
  createDeploy: { cli: "deploy --app {id} --template base --detach --json" },
  listDeploys: { cli: "app deploys {id}", gives: { cli: expect.any(String) } },
  getDeploy: { cli: leftOut("`skerry deploy` follows it to its end: packages/cli/tests/apps.test.ts") },
  getAppLogs: {
    sdk: ({ apps }, { id }) => apps.logs(id),
    python: "skerry.apps.logs({id})",
    cli: "logs --app {id} --json",
  },
  listAppFailures: { cli: "app failures {id} --json" },
  getAppMetrics: { cli: "app metrics {id} --json" },
  createRoute: { cli: "route create {id} --path-prefix /api --group web --json" },
  listRoutes: { cli: "route list {id}", gives: { cli: expect.any(String) } },
  deleteRoute: { cli: "route delete {id} {route}", gives: { cli: expect.stringMatching(/ deleted\n$/) } },
  listAppSecrets: { cli: "secret list --app {id} --json" },
  setAppSecret: { cli: "secret set API_KEY --app {id} --stage --json", input: "hush\n" },
  deleteAppSecret: {
    cli: "secret delete API_KEY --app {id}",
    gives: { cli: expect.stringMatching(/^API_KEY deleted/) },
  },
  createOneOff: { cli: leftOut("`skerry app run` deletes it again: packages/cli/tests/apps.test.ts") },
  deleteOneOff: { cli: leftOut("`skerry app run` deletes it: packages/cli/tests/apps.test.ts") },
  listReleases: { cli: "app releases {id}", gives: { cli: expect.any(String) } },
} satisfies Partial<Readonly<Record<OperationId, ClientCall>>>;

import type { OperationId } from "../../src/app/operations.ts";
import { expect } from "vitest";
import { leftOut, type ClientCall } from "./client-call.ts";

export const appClientCalls = {
  createApp: { cli: "app create {said.name} --json" },
  listApps: { cli: "app list --json" },
  getApp: { cli: "app show {id} --json" },
  updateApp: {
    cli: "app scale {id} web=2",
    gives: { cli: expect.stringMatching(/^a-\S+ +a-\S+\.localhost/) },
  },
  deleteApp: { cli: "app destroy {id}", gives: { cli: expect.stringMatching(/is being deleted\n$/) } },
  createDeploy: { cli: "deploy {id} --template base --detach --json" },
  listDeploys: { cli: "app deploys {id}", gives: { cli: expect.any(String) } },
  getDeploy: { cli: leftOut("`skerry deploy` follows it to its end: packages/cli/tests/apps.test.ts") },
  getAppLogs: { cli: "logs --app {id} --json" },
  listReleases: { cli: "app releases {id}", gives: { cli: expect.any(String) } },
} satisfies Partial<Readonly<Record<OperationId, ClientCall>>>;

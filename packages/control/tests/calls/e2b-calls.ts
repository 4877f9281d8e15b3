// One call that succeeds of each operation of E2B's that writes, by its path: `operations` of E2B have no document that says what they take.

import { createHash } from "node:crypto";
import { builtTemplate } from "../support/builds.ts";
import type { Call, Prepare } from "./call.ts";
import { createE2bSandbox } from "../support/e2b.ts";
import type { World } from "../support/world.ts";

const call = (method: Call["method"], path: string, body?: unknown): Call => ({
  method,
  path: `/e2b${path}`,
  body,
});

const inSandbox =
  (rest: string, body?: unknown, { isPaused = false, method = "POST" as Call["method"] } = {}): Prepare =>
  async (world) => {
    const { sandboxID } = await createE2bSandbox(world);
    if (isPaused) await world.call("POST", `/e2b/sandboxes/${sandboxID}/pause`);
    return call(method, rest.replace("ID", sandboxID), body);
  };

const template =
  (method: Call["method"], path: string, body?: unknown): Prepare =>
  async (world) => {
    await builtTemplate(world);
    return call(method, path, body);
  };

async function asked(world: World) {
  const body = { name: "asked" };
  return (await world.call<{ buildID: string }>("POST", "/e2b/v3/templates", { body })).body.buildID;
}

async function snapshotId(world: World) {
  const { sandboxID } = await createE2bSandbox(world);
  const path = `/e2b/sandboxes/${sandboxID}/snapshots`;
  return (await world.call<{ snapshotID: string }>("POST", path, { body: {} })).body.snapshotID;
}

async function key(world: World) {
  const made = await world.call<{ id: string }>("POST", "/e2b/api-keys", { body: { name: "key" } });
  return made.body.id;
}

const pausing = { templateID: "base", timeout: 300, autoPause: true };

/** By the names of `e2bOperations` and `archiveOperations`. */
export const e2bCalls: { readonly [id: string]: Prepare | undefined } = {
  create: async () => call("POST", "/sandboxes", { templateID: "base", timeout: 300 }),
  createV2: async () => call("POST", "/v2/sandboxes", pausing),
  kill: inSandbox("/sandboxes/ID", undefined, { method: "DELETE" }),
  setTimeout: inSandbox("/sandboxes/ID/timeout", { timeout: 600 }),
  refresh: inSandbox("/sandboxes/ID/refreshes", { duration: 600 }),
  connect: inSandbox("/sandboxes/ID/connect", { timeout: 300 }, { isPaused: true }),
  connectV2: inSandbox("/v2/sandboxes/ID/connect", { timeout: 300 }, { isPaused: true }),
  pause: inSandbox("/sandboxes/ID/pause"),
  resume: inSandbox("/sandboxes/ID/resume", { timeout: 300 }, { isPaused: true }),
  setNetwork: inSandbox("/sandboxes/ID/network", { allowOut: ["8.8.8.8"] }, { method: "PUT" }),
  createSnapshot: inSandbox("/sandboxes/ID/snapshots", {}),
  fork: inSandbox("/sandboxes/ID/fork", { timeout: 300 }),
  forkV2: inSandbox("/v2/sandboxes/ID/fork", { timeout: 300 }),
  deleteSnapshot: async (world) => call("DELETE", `/templates/${await snapshotId(world)}`),
  deleteTemplate: template("DELETE", "/templates/web"),
  createTemplateBuild: async () => call("POST", "/v3/templates", { name: "asked" }),
  uploadFilesLink: async () => call("GET", `/templates/asked/files/${"ab".repeat(32)}`),
  startTemplateBuild: async (world) =>
    call("POST", `/v2/templates/asked/builds/${await asked(world)}`, {
      steps: [{ type: "RUN", args: ["true"] }],
    }),
  updateTemplate: template("PATCH", "/templates/web", { public: false }),
  updateTemplateV2: template("PATCH", "/v2/templates/web", { public: false }),
  assignTags: template("POST", "/templates/tags", { target: "web:latest", tags: ["one", "two"] }),
  removeTags: template("DELETE", "/templates/tags", { name: "web", tags: ["latest"] }),
  createApiKey: async () => call("POST", "/api-keys", { name: "key" }),
  deleteApiKey: async (world) => call("DELETE", `/api-keys/${await key(world)}`),
  uploadArchive: async (world) => {
    const hash = createHash("sha256").update("x").digest("hex");
    const link = await world.call<{ url: string }>("GET", `/e2b/templates/asked/files/${hash}`);
    const { pathname, search } = new URL(link.body.url);
    return { method: "PUT", path: pathname + search, body: "x" };
  },
};

import { activateBuilder, builtTemplate, newBuild } from "../support/builds.ts";
import { call, type Prepare } from "./call.ts";

export const buildCalls = {
  prepareTemplate: async () => call("POST", "/v1/templates/base/prepare"),
  getTemplate: async () => call("GET", "/v1/templates/base"),
  createTemplate: async () =>
    call("POST", "/v1/templates", { name: "web", size: "shared-cpu-1x", steps: [{ run: "make" }] }),
  pushTemplate: async (world) =>
    call("POST", `/v1/templates/${(await builtTemplate(world)).template_id}/push`, { image: "a.b/c" }),
  deleteTemplate: async (world) =>
    call("DELETE", `/v1/templates/${(await builtTemplate(world)).template_id}`),
  tagTemplate: async (world) => {
    const { template_id } = await builtTemplate(world);
    return call("PUT", "/v1/templates/web/tags/stable", { template: template_id });
  },
  untagTemplate: async (world) => {
    await builtTemplate(world);
    return call("DELETE", "/v1/templates/web/tags/latest");
  },
  getBuild: async (world) => call("GET", `/v1/builds/${(await newBuild(world)).id}`),
  getBuildEgress: async (world) => call("GET", `/v1/builds/${(await newBuild(world)).id}/egress`),
  getBuildLog: async (world) => call("GET", `/v1/builds/${(await newBuild(world)).id}/logs`),
  uploadBuildContext: async (world) => {
    const { id } = await newBuild(world, { context: true });
    await activateBuilder(world);
    return call("PUT", `/v1/builds/${id}/context`, "x");
  },
  clearCache: async () => call("DELETE", "/v1/cache"),
  uploadBuildSecret: async (world) => {
    const { id } = await newBuild(world, { context: true });
    await activateBuilder(world);
    return call("PUT", `/v1/builds/${id}/secrets/token`, "x");
  },
  cancelBuild: async (world) => call("POST", `/v1/builds/${(await newBuild(world)).id}/cancel`),
  retryBuild: async (world) => {
    const { id } = await newBuild(world);
    await world.call("POST", `/v1/builds/${id}/cancel`);
    return call("POST", `/v1/builds/${id}/retry`);
  },
  setRegistryCredential: async () =>
    call("PUT", "/v1/registry-credentials/registry.example:5000", { username: "me", password: "secret" }),
  deleteRegistryCredential: async (world) => {
    const path = "/v1/registry-credentials/old.example";
    await world.call("PUT", path, { body: { username: "me", password: "secret" } });
    return call("DELETE", path);
  },
} satisfies Readonly<Record<string, Prepare>>;

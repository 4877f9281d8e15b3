import type { OperationId } from "../../src/app/operations.ts";
import { expect } from "vitest";
import { activateBuilder } from "../support/builds.ts";
import { leftOut, type ClientCall } from "./client-call.ts";

const build = { name: "web", size: "shared-cpu-1x", steps: [{ run: "make" }] };

export const buildClientCalls = {
  listTemplates: {
    cli: "template list --json",
  },
  getTemplate: {
    cli: "template show {template} --json",
  },
  prepareTemplate: {
    cli: "template prepare {template}",
    gives: { cli: "base ready\n" },
  },
  createTemplate: {
    sdk: ({ templates }) => templates.beginBuild(build),
    python: `skerry.templates.begin_build(${JSON.stringify(build)})`,
    cli: "template build --name web --size shared-cpu-1x --run make --json",
    // The command line follows it to its end.
    meanwhile: async (world) => void (await activateBuilder(world)),
    gives: { cli: expect.objectContaining({ name: "web", status: "ready" }) },
  },
  pushTemplate: {
    sdk: ({ templates }, { template }) => templates.beginPush(template, { image: "a.b/c" }),
    python: 'skerry.templates.begin_push({template}, {"image": "a.b/c"})',
    cli: leftOut("it follows the push to its end: packages/cli/tests/template-push.test.ts"),
  },
  deleteTemplate: {
    cli: "template delete {template}",
    gives: { cli: expect.stringMatching(/^tpl_\w+ deleted\n$/) },
  },
  tagTemplate: {
    cli: "template tag {name}:{tag} {said.template}",
    gives: { cli: expect.stringMatching(/^web:stable is tpl_\w+\n$/) },
  },
  untagTemplate: {
    cli: "template untag {name}:{tag}",
    gives: { cli: "web:latest removed\n" },
  },
  listBuilds: {
    cli: "build list --json",
  },
  getBuild: {
    cli: "build show {id} --json",
  },
  getBuildEgress: {
    cli: "build egress {id} --json",
  },
  getBuildLog: {
    sdk: ({ builds }, { id }) => builds.log(id),
    python: "skerry.builds.log({id})",
    cli: "build logs {id}",
    gives: { cli: "" },
  },
  uploadBuildContext: {
    sdk: ({ builds }, { id }) => builds.sendContext(id, "x"),
    python: 'skerry.builds.send_context({id}, "x")',
    cli: leftOut("`template build DIR` sends it: packages/cli/tests/template-build.test.ts"),
    gives: { python: null },
  },
  listCache: {
    cli: "cache list --json",
  },
  clearCache: {
    cli: "cache clear --json",
  },
  uploadBuildSecret: {
    sdk: ({ builds }, { id, name }) => builds.sendSecret(id, name, "x"),
    python: 'skerry.builds.send_secret({id}, {name}, value="x")',
    cli: leftOut("`template build --secret` sends it: packages/cli/tests/template-build-dockerfile.test.ts"),
  },
  cancelBuild: {
    cli: "build cancel {id}",
    gives: { cli: expect.stringMatching(/^bld_\w+ canceled\n$/) },
  },
  retryBuild: {
    cli: "build retry {id} --json",
  },
  listRegistryCredentials: {
    cli: "registry list --json",
  },
  setRegistryCredential: {
    cli: "registry login {host} --username me --json",
    input: "secret\n",
  },
  deleteRegistryCredential: {
    cli: "registry logout {host}",
    gives: { cli: "old.example logged out\n" },
  },
} satisfies Partial<Readonly<Record<OperationId, ClientCall>>>;

import { expect } from "vitest";
import type { buildCalls } from "../calls/build-calls.ts";
import { activateBuilder } from "../support/builds.ts";
import { leftOut, type ClientCall } from "./client-call.ts";

const build = { name: "web", size: "shared-cpu-1x", steps: [{ run: "make" }] };

export const buildClientCalls = {
  listTemplates: {
    sdk: ({ templates }) => templates.list(),
    python: "skerry.templates.list()",
    cli: "template list --json",
  },
  getTemplate: {
    sdk: ({ templates }, { template }) => templates.get(template),
    python: "skerry.templates.get({template})",
    cli: "template show {template} --json",
  },
  prepareTemplate: {
    sdk: ({ templates }, { template }) => templates.prepare(template),
    python: "skerry.templates.prepare({template})",
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
    sdk: ({ templates }, { template }) => templates.delete(template),
    python: "skerry.templates.delete({template})",
    cli: "template delete {template}",
    gives: { cli: expect.stringMatching(/^tpl_\w+ deleted\n$/) },
  },
  tagTemplate: {
    sdk: ({ templates }, { template, tag, said }) => templates.tag(template, tag, said.template),
    python: "skerry.templates.tag({template}, {tag}, {said.template})",
    cli: "template tag {template}:{tag} {said.template}",
    gives: { cli: expect.stringMatching(/^web:stable is tpl_\w+\n$/) },
  },
  untagTemplate: {
    sdk: ({ templates }, { template, tag }) => templates.untag(template, tag),
    python: "skerry.templates.untag({template}, {tag})",
    cli: "template untag {template}:{tag}",
    gives: { cli: "web:latest removed\n" },
  },
  listBuilds: {
    sdk: ({ builds }) => builds.page(),
    python: "skerry.builds.page()",
    cli: "build list --json",
  },
  getBuild: {
    sdk: ({ builds }, { id }) => builds.get(id),
    python: "skerry.builds.get({id})",
    cli: "build show {id} --json",
  },
  getBuildEgress: {
    sdk: ({ builds }, { id }) => builds.egress(id),
    python: "skerry.builds.egress({id})",
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
    sdk: ({ cache }) => cache.page(),
    python: "skerry.cache.page()",
    cli: "cache list --json",
  },
  clearCache: {
    sdk: ({ cache }) => cache.clear(),
    python: "skerry.cache.clear()",
    cli: "cache clear --json",
  },
  uploadBuildSecret: {
    sdk: ({ builds }, { id, name }) => builds.sendSecret(id, name, "x"),
    python: 'skerry.builds.send_secret({id}, {name}, value="x")',
    cli: leftOut("`template build --secret` sends it: packages/cli/tests/template-build-dockerfile.test.ts"),
  },
  cancelBuild: {
    sdk: ({ builds }, { id }) => builds.cancel(id),
    python: "skerry.builds.cancel({id})",
    cli: "build cancel {id}",
    gives: { cli: expect.stringMatching(/^bld_\w+ canceled\n$/) },
  },
  retryBuild: {
    sdk: ({ builds }, { id }) => builds.retry(id),
    python: "skerry.builds.retry({id})",
    cli: "build retry {id} --json",
  },
  listRegistryCredentials: {
    sdk: ({ registries }) => registries.list(),
    python: "skerry.registries.list()",
    cli: "registry list --json",
  },
  setRegistryCredential: {
    sdk: ({ registries }, { host }) => registries.set(host, { username: "me", password: "secret" }),
    python: 'skerry.registries.set({host}, username="me", password="secret")',
    cli: "registry login {host} --username me --json",
    input: "secret\n",
  },
  deleteRegistryCredential: {
    sdk: ({ registries }, { host }) => registries.delete(host),
    python: "skerry.registries.delete({host})",
    cli: "registry logout {host}",
    gives: { cli: "old.example logged out\n" },
  },
} satisfies Readonly<Record<keyof typeof buildCalls, ClientCall>>;

// What a build gets of registries' credentials: those that it needs, for the step that needs them, and nowhere else.

import { rmSync, writeFileSync } from "node:fs";
import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Build } from "@skerry/contract/builds/build";
import type { BuildLog } from "@skerry/contract/builds/build-log";
import {
  IMAGE_CONFIG_FILE,
  IMAGE_DIGEST_FILE,
  REGISTRY_AUTH_FILE,
} from "@skerry/build-plan/scripts/registry-files";
import { SkerryError } from "@skerry/contract/errors";
import { formatRootKeys } from "@skerry/contract/sealing/root-key-file";
import { activateBuilder, buildNow, newBuild } from "./support/builds.ts";
import { Members } from "./support/members.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
const PASSWORD = "correct-horse-battery-staple";
const IMAGE = "registry.example:5000/team/app:1";
const DIGEST = `sha256:${"a".repeat(64)}`;

const plant = (path: string, text: string): void =>
  void world.host.files.set(path, { size: text.length, sha256: "", mode: 0o644, content: Buffer.from(text) });
const login = (host: string, token = world.token) =>
  world.call("PUT", `/v1/registry-credentials/${host}`, {
    token,
    body: { username: "me", password: PASSWORD },
  });
const authOf = (host: string) => ({ [host]: { auth: Buffer.from(`me:${PASSWORD}`).toString("base64") } });

/** What was written into the microVM; null: nothing. */
function written(): unknown {
  const file = world.host.files.get(REGISTRY_AUTH_FILE);
  return file === undefined ? null : (JSON.parse(file.content.toString()) as { auths: unknown }).auths;
}

async function pull(request: Record<string, unknown> = { image: IMAGE }): Promise<Build> {
  const { id } = await newBuild(world, { steps: undefined, ...request });
  await activateBuilder(world);
  return buildNow(world, id);
}

beforeEach(() => {
  plant(IMAGE_CONFIG_FILE, JSON.stringify({ OCIv1: { config: { Env: ["A=1"] } } }));
  plant(IMAGE_DIGEST_FILE, `${DIGEST}\n`);
});
afterEach(async () => {
  await sql`delete from builds`.execute(world.db);
  await sql`delete from build_cache`.execute(world.db);
  await sql`delete from registry_credentials`.execute(world.db);
  world.host.vms.clear();
  world.host.files.clear();
  world.host.calls.length = 0;
  world.host.urls.length = 0;
  world.host.commands.length = 0;
});

test("an image is pulled with the credentials of its registry alone, which come before the step and go after it", async () => {
  await login("registry.example:5000");
  await login("other.example");
  const build = await pull();
  expect(build).toMatchObject({ status: "ready", source: { image: IMAGE, digest: DIGEST } });
  expect(written()).toEqual(authOf("registry.example:5000"));
  const of = (part: RegExp) => world.host.calls.findIndex((call) => part.test(call));
  const [begun, gone] = [of(/^PUT .*\/executions?/), of(/^DELETE .*\/entry/)];
  expect(of(/^PUT .*\/file/)).toBeGreaterThan(-1);
  expect(of(/^PUT .*\/file/)).toBeLessThan(begun);
  expect(gone).toBeGreaterThan(begun);
  expect(world.host.files.has("/run/skerry-registries/")).toBe(false);
  const shown = await world.call("GET", `/v1/templates/${build.template_id}`);
  expect(shown.body).toMatchObject({ source: { image: IMAGE, digest: DIGEST } });
});

test("the log says that VMs do not run an image's command, and what does, unless the build has a start", async () => {
  const config = { Entrypoint: ["/init"], Cmd: ["redis-server", "a b"] };
  plant(IMAGE_CONFIG_FILE, JSON.stringify({ OCIv1: { config } }));
  const told = async (request = {}) => {
    const { id, status } = await pull({ image: IMAGE, ...request });
    expect(status).toBe("ready");
    const { body } = await world.call<BuildLog>("GET", `/v1/builds/${id}/logs`);
    const texts = body.lines.map(({ text }) => text);
    return texts
      .slice(
        0,
        texts.findIndex((text) => text.includes("freeze it")),
      )
      .slice(-2);
  };
  const said = [
    "Its command is not run by itself: /init redis-server 'a b'",
    expect.stringContaining("skerry machine create --command") as string,
  ];
  expect(await told()).toEqual(said);
  // Carried out in a microVM of its own, whose configuration the build has kept.
  expect(await told({ steps: [{ run: "true" }], no_cache: true })).toEqual(said);
  expect(await told({ start: { command: "redis-server" }, no_cache: true })).not.toEqual(said);
});

test("neither the microVM's record, its commands, the database nor the log has the password", async () => {
  await login("registry.example:5000");
  const specs: string[] = [];
  world.host.beforeStart = async (id) => void specs.push(JSON.stringify(world.host.vms.get(id) ?? id));
  const { id } = await pull();
  world.host.beforeStart = async () => undefined;
  const { rows } = await sql<{ all: string }>`
    select (select string_agg(b::text, '') from builds b) || (select string_agg(s::text, '') from build_steps s)
      || coalesce((select string_agg(l::text, '') from build_log l), '') as all`.execute(world.db);
  const texts = [
    rows[0]?.all,
    specs,
    world.host.commands,
    world.host.urls,
    world.log,
    await buildNow(world, id),
  ];
  const all = texts.map((one) => JSON.stringify(one)).join("");
  expect(all).toContain(IMAGE);
  for (const form of [PASSWORD, Buffer.from(`me:${PASSWORD}`).toString("base64")])
    expect(all).not.toContain(form);
});

test("steps that pull nothing get no credentials, and no build gets those of another organization", async () => {
  const members = new Members(world);
  const { path } = await members.newOrganization();
  await login("registry.example:5000", (await members.newMember("owner", path)).secret);
  expect(await pull()).toMatchObject({ status: "ready" });
  expect(written()).toBeNull();
  await login("registry.example:5000");
  expect(await pull({ steps: [{ run: "make" }] })).toMatchObject({ status: "ready", source: null });
  expect(written()).toBeNull();
});

/** Incarnations of the build's microVM: those that were given credentials, and those in which commands of the
 *  tenant have run. */
function microVms(): { readonly knowing: ReadonlySet<string>; readonly running: ReadonlySet<string> } {
  const { urls, commands } = world.host;
  const written = urls.map((url) => new URL(url).searchParams);
  const knowing = written.filter((query) => query.get("path") === REGISTRY_AUTH_FILE);
  const running = commands.filter(({ env }) => env["STEP_RUN"] !== undefined);
  return {
    knowing: new Set(knowing.map((query) => query.get("execution_id") ?? "")),
    running: new Set(running.map(({ execution_id }) => execution_id)),
  };
}

const STEPS = [{ run: "make" }, { run: "make test" }];

test("no command of a tenant runs in a microVM that has seen credentials, and the image is there all the same", async () => {
  await login("registry.example:5000");
  const build = await pull({ image: IMAGE, steps: STEPS });
  expect(build).toMatchObject({ status: "ready", error: null, source: { image: IMAGE, digest: DIGEST } });
  expect(build.steps.map(({ status }) => status)).toEqual(["done", "done", "done", "done"]);
  const { knowing, running } = microVms();
  expect([knowing.size, running.size]).toEqual([1, 1]);
  expect([...running].filter((one) => knowing.has(one))).toEqual([]);
  const kept = world.host.templates.kept.get(build.template_id ?? "");
  // An empty disk, the image, what the steps have written.
  expect(kept?.image.layers).toHaveLength(3);
  expect(kept?.env).toEqual({ A: "1" });
  const { rows } = await sql<{ status: string }>`select status from build_cache`.execute(world.db);
  expect(rows).toEqual([{ status: "deleting" }]);
});

test("where there are no credentials, or nothing of the tenant's runs, one microVM is enough", async () => {
  await login("other.example");
  expect(await pull({ image: IMAGE, steps: STEPS })).toMatchObject({ status: "ready" });
  expect(microVms()).toMatchObject({ knowing: new Set(), running: { size: 1 } });
  await login("registry.example:5000");
  const starts = world.host.calls.length;
  expect(await pull({ image: IMAGE, steps: [{ workdir: "/app" }] })).toMatchObject({ status: "ready" });
  const begun = world.host.calls.slice(starts).filter((call) => /^PUT \/vms\/[^/]+$/.test(call));
  expect(begun).toHaveLength(1);
});

test("a context goes into the microVM behind the pull, whose files the steps read", async () => {
  await login("registry.example:5000");
  const steps = [{ copy: { from: ".", to: "/app" } }, { run: "make" }];
  const { id } = await newBuild(world, { image: IMAGE, steps, context: true });
  const sent = world.call("PUT", `/v1/builds/${id}/context`, { body: "a tar archive" });
  await activateBuilder(world);
  expect(await buildNow(world, id)).toMatchObject({
    steps: [{ status: "done" }, { status: "waiting" }, { status: "waiting" }, { status: "waiting" }],
  });
  expect((await sent).status).toBe(200);
  await activateBuilder(world);
  expect(await buildNow(world, id)).toMatchObject({ status: "ready", error: null });
  const { knowing, running } = microVms();
  const unpacked = world.host.urls.filter((url) => new URL(url).pathname.endsWith("/archive"));
  expect(unpacked.map((url) => new URL(url).searchParams.get("execution_id"))).toEqual([...running]);
  expect([...running].filter((one) => knowing.has(one))).toEqual([]);
});

test.each(["seal", "put"] as const)(
  "a pull whose disk could not be kept (%s) is not carried out again, and its build goes on later",
  async (call) => {
    await login("registry.example:5000");
    world.host.templates.failures.set(call, new SkerryError("host_unavailable", "It is away."));
    const { id } = await newBuild(world, { image: IMAGE, steps: STEPS });
    await activateBuilder(world);
    expect(await buildNow(world, id)).toMatchObject({
      status: "queued",
      steps: [{ status: "done" }, {}, {}, {}],
    });
    world.host.templates.failures.clear();
    await sql`update builds set retry_at = now()`.execute(world.db);
    await activateBuilder(world);
    expect(await buildNow(world, id)).toMatchObject({ status: "ready" });
    const pulls = world.host.commands.filter(({ env }) => env["STEP_IMAGE"] !== undefined);
    expect(new Set(pulls.map(({ execution_id }) => execution_id)).size).toBe(1);
    const { knowing, running } = microVms();
    expect([...running].filter((one) => knowing.has(one))).toEqual([]);
  },
);

/** Of a Dockerfile whose context has come. */
async function buildDockerfile(dockerfile: Record<string, unknown>): Promise<Build> {
  const { id } = await newBuild(world, { steps: undefined, dockerfile, context: true });
  await activateBuilder(world);
  const sent = await fetch(`${world.url}/v1/builds/${id}/context`, {
    method: "PUT",
    headers: { authorization: `Bearer ${world.token}`, "content-type": "application/x-tar" },
    body: "x",
  });
  expect(sent.status).toBe(200);
  await activateBuilder(world);
  return buildNow(world, id);
}

test("a Dockerfile, which may name any registry, gets all of its organization's", async () => {
  await login("one.example");
  await login("two.example");
  expect(await buildDockerfile({})).toMatchObject({ status: "ready" });
  expect(written()).toEqual({ ...authOf("one.example"), ...authOf("two.example") });
});

test("where a Dockerfile is carried out in groups, no credentials come once a command of it has run", async () => {
  await login("one.example");
  const text = "FROM base\nRUN make\nCOPY a /a\nRUN make\nCOPY b /b\nRUN make\n";
  const build = await buildDockerfile({ text });
  expect(build).toMatchObject({ status: "ready" });
  expect(build.steps).toHaveLength(4);
  const at = (part: RegExp): number[] =>
    world.host.calls.flatMap((call, index) => (part.test(call) ? [index] : []));
  const written = at(/^PUT .*\/file/);
  const [first = -1, second = -1] = at(/^PUT .*\/executions?/);
  expect(written.filter((index) => index < first)).toHaveLength(1);
  expect(written.filter((index) => index > first)).toEqual([]);
  expect(second).toBeGreaterThan(first);
});

test("without the root key a build that needs credentials fails for that reason, and others are made", async () => {
  await login("registry.example:5000");
  const whole = formatRootKeys(await world.context.sealing.rootKeys());
  rmSync(world.rootKeyFile);
  try {
    expect(await pull()).toMatchObject({ status: "failed", error: { code: "secrets_unavailable" } });
    expect(await pull({ image: "elsewhere.example/app" })).toMatchObject({ status: "ready" });
  } finally {
    writeFileSync(world.rootKeyFile, whole, { mode: 0o400 });
  }
});

test("a microVM that tells no digest fails the build", async () => {
  plant(IMAGE_DIGEST_FILE, "sha256:nothing");
  expect(await pull()).toMatchObject({ status: "failed", error: { code: "build_step_failed" } });
});

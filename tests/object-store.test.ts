// A template that outlives the host that built it: its layers are in an object store, sealed, and another host takes them from there.

import { readFile } from "node:fs/promises";
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import {
  call,
  eagerServices,
  freePort,
  nothingWaits,
  startPlatform,
  until,
  type Platform,
} from "./support/platform.ts";
import { S3Server } from "./support/s3-server.ts";
import { joinHost, type SecondHost } from "./support/second-host.ts";
import { fullTest } from "./support/full-test.ts";

const TIMEOUT_MS = 600_000;
/** What fakes show as well is tried on real hosts in full runs alone. */

let server: S3Server;
let platform: Platform;
let second: SecondHost | undefined;

beforeAll(async () => {
  server = await S3Server.start();
  const env = {
    ...{ ...eagerServices, ...nothingWaits, SKERRY_LAYER_STORER_INTERVAL_MS: "1000" },
    // So that another host can send it what the store does not have.
    SKERRY_HOST_LISTEN: `127.0.0.1:${await freePort()}`,
    ...{ SKERRY_OBJECT_STORE_URL: server.url, SKERRY_OBJECT_STORE_CREDENTIALS: server.credentialsFile },
  };
  platform = await startPlatform({ assets: inject("assets"), env });
  second = await joinHost(platform);
});

afterAll(async () => {
  await second?.stop();
  await platform?.stop();
  await server?.[Symbol.asyncDispose]();
});

/** NaN where there is none. */
async function metric(name: string): Promise<number> {
  const text = await (await call(platform, "GET", "/metrics")).text();
  const line = text.split("\n").find((one) => one.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1));
}

const layersThatAre = (status: string) => metric(`skerry_stored_layers{status="${status}"}`);
const failuresOf = (what: string) => metric(`skerry_object_store_failures_total{call="${what}"}`);
const statusOf = async (id: string) => (await platform.client.hosts.get(id)).status;

async function untilStored(): Promise<void> {
  await until("all layers are stored", async () => {
    const [ready, storing] = [await layersThatAre("ready"), await layersThatAre("storing")];
    return ready >= 2 && storing === 0;
  });
}

/** The host beside control. */
async function firstHost(): Promise<string> {
  for await (const { id, status } of platform.client.hosts.list())
    if (id !== second?.id && status !== "offline") return id;
  throw new Error("there is no other host");
}

const create = (template: string) =>
  platform.client.sandboxes.create({ template, egress: { mode: "deny_all" } });

test(
  "a template whose host is gone is made into a sandbox on another host, from the store, which has learnt nothing of it",
  async () => {
    const { client } = platform;
    const own = second;
    if (own === undefined) throw new Error("the second host has not joined");
    await until("the second host is online", async () => (await statusOf(own.id)) === "online");
    const first = await firstHost();
    // So that the build goes to the second one.
    await client.hosts.drain(first);
    const mark = randomUUID();
    const build = await client.templates.build({
      ...{ name: "web", size: "shared-cpu-1x", egress: { mode: "deny_all" } },
      steps: [{ workdir: "/srv" }, { run: `for i in $(seq 1000); do echo ${mark} >> mark; done` }],
    });
    expect(build).toMatchObject({ status: "ready", error: null, host_id: own.id });
    await untilStored();
    const objects = await server.objects();
    expect(objects.length).toBeGreaterThan(2);
    for (const file of objects) expect((await readFile(file)).includes(mark), file).toBe(false);
    await client.hosts.activate(first);
    second = undefined;
    await own.stop();
    await until("the second host is known to be gone", async () => (await statusOf(own.id)) === "offline");
    const sandbox = await create("web");
    expect(sandbox.info.host_id).toBe(first);
    expect(await sandbox.execute("pwd; sort mark | uniq -c")).toMatchObject({
      stdout: `/srv\n   1000 ${mark}\n`,
    });
    await sandbox.destroy();
    await client.templates.delete("web");
    await until("its layers are to be deleted", async () => (await layersThatAre("deleting")) >= 2);
    // Not a piece of them opens any more, and nothing reads the store.
    expect([await layersThatAre("ready"), await layersThatAre("storing")]).toEqual([0, 0]);
  },
  TIMEOUT_MS,
);

fullTest(
  "what the store has damaged comes from a host and is stored anew, and while it is away builds and sandboxes go on",
  async () => {
    const { client } = platform;
    const other = await joinHost(platform);
    second = other;
    await until("the second host is online", async () => (await statusOf(other.id)) === "online");
    const first = await firstHost();
    await client.hosts.drain(first);
    const built = (name: string) =>
      client.templates.build({
        ...{ name, size: "shared-cpu-1x", egress: { mode: "deny_all" } },
        steps: [{ workdir: "/srv" }, { run: `echo ${name} > name` }],
      });
    expect(await built("api")).toMatchObject({ status: "ready", host_id: other.id });
    await untilStored();
    for (const file of await server.objects()) await server.change(file);
    await client.hosts.activate(first);
    await client.hosts.drain(other.id);
    const sandbox = await create("api");
    expect(sandbox.info.host_id).toBe(first);
    expect((await sandbox.execute("cat name")).stdout).toBe("api\n");
    expect(await failuresOf("fetch")).toBeGreaterThan(0);
    await untilStored();
    await server.leave();
    const away = await built("away");
    expect(away).toMatchObject({ status: "ready", error: null, host_id: first });
    await using ofAway = await create("away");
    expect((await ofAway.execute("cat name")).stdout).toBe("away\n");
    await until("the service says that it fails", async () => (await failuresOf("store")) > 0);
    expect(await layersThatAre("storing")).toBeGreaterThan(0);
    await server.comeBack();
    await untilStored();
    await sandbox.destroy();
  },
  TIMEOUT_MS,
);

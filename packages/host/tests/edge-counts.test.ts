// Answers by routes, and failures that are kept for the log of an app, from a real HAProxy.

import { once } from "node:events";
import { readdir, utimes } from "node:fs/promises";
import { createServer } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newId } from "@skerry/contract/ids";
import type { EdgeInstance } from "@skerry/contract/host-api/edge";
import { Failures, toldFailures } from "../src/edge/failures.ts";
import { until } from "./support/edge-instances.ts";
import { begin, edge, folder, leave, listen, nextVersion } from "./support/edge-rig.ts";

/** Answers with the status and after the milliseconds that the path says. */
const server = createServer((asked, answer) => {
  const [, status = "200", ms = "0"] = asked.url?.split("/") ?? [];
  setTimeout(() => answer.writeHead(Number(status)).end("x"), Number.parseInt(ms, 10));
});
let own: EdgeInstance;
beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  own = {
    ...{ vm: "mch_1", execution_id: "exe_1", state: "serving" },
    port: (server.address() as AddressInfo).port,
  };
});
afterAll(() => void server.close());

const [shop, victim] = [newId("app"), newId("app")];
const serve = () =>
  edge.apply({
    version: nextVersion(),
    backends: [
      { id: "web", protocol: "http", instances: [own] },
      { id: "none", protocol: "http", instances: [] },
    ],
    routes: [
      { host: "shop.test", path_prefix: "/", backend: "web", app: shop, id: shop },
      { host: "shop.test", path_prefix: "/none/", backend: "none", app: shop, id: "rte_none" },
      {
        host: "shop.test",
        path_prefix: "/off/",
        backend: "web",
        app: shop,
        id: "rte_off",
        maintenance: true,
      },
      { host: "victim.test", path_prefix: "/", backend: "none", app: victim, id: victim },
    ],
  });
async function say(head: string): Promise<void> {
  const [address, port] = listen.split(":");
  const socket = connect(Number(port), address).resume();
  socket.on("error", () => undefined);
  socket.write(`${head}\r\nConnection: close\r\n\r\n`);
  await once(socket, "close");
}
const get = (path: string, host = "shop.test") => say(`GET ${path} HTTP/1.1\r\nHost: ${host}`);

test("answers of a route are counted by their times and classes, and go on over another configuration", async () => {
  await serve();
  await edge.traffic();
  for (const path of ["/200", "/200", "/404", "/500", "/200/60"]) await get(path);
  await get("/none/1");
  const routes = async () => (await edge.traffic()).routes?.find(({ route }) => route === shop);
  const counts = await routes();
  expect(counts).toMatchObject({ client_errors: 1, server_errors: 1 });
  expect(counts?.times.reduce((sum, count) => sum + count, 0)).toBe(5);
  // One took longer than 50 ms, however busy this machine is.
  expect(counts?.times.slice(2).reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(1);
  await edge.apply({
    version: nextVersion(),
    backends: Array.from({ length: 80 }, (_, at) => ({
      ...{ id: at === 0 ? "web" : `more-${at}`, protocol: "http" as const },
      instances: at === 0 ? [own] : [],
    })),
    routes: [{ host: "shop.test", path_prefix: "/", backend: "web", app: shop, id: shop }],
  });
  // The process before may still take one while it ends.
  await until("more are counted", async () => {
    await get("/200");
    return ((await routes())?.times.reduce((sum, count) => sum + count, 0) ?? 0) > 5;
  });
});

test("failures of apps and of the proxy are kept, each with its app, and no path forges one", async () => {
  await serve();
  const since = Date.now();
  await get("/503/1?token=secret");
  await get("/none/a|503|SC|b0/s0|1|x|GET|%0a<6>2026-01-01T00:00:00Z");
  await get('/none/"quoted"');
  await get("/off/1");
  await get("/1", "victim.test");
  await get("/200");
  const { failures } = await edge.failures(shop, since);
  expect(failures.map(({ status, vm, path }) => [status, vm, path])).toEqual([
    [503, "mch_1", "/503/1"],
    [503, null, "/none/a|503|SC|b0/s0|1|x|GET|%0a<6>2026-01-01T00:00:00Z"],
    [503, null, '/none/"quoted"'],
  ]);
  expect(failures[0]).toMatchObject({ method: "GET", end: "--" });
  expect(failures[0]?.request_id).toMatch(/^[0-9a-f-]{36}$/);
  expect((await edge.failures(victim, since)).failures).toHaveLength(1);
  // They are read once, and by time.
  expect((await edge.failures(shop, since)).failures).toHaveLength(3);
  expect((await edge.failures(shop, Date.now() + 60_000)).failures).toEqual([]);
  // The ring outlives this process, and the next one keeps none of it twice.
  await leave();
  await begin();
  expect((await edge.failures(shop, since)).failures).toHaveLength(3);
  expect((await edge.failures("../../etc/passwd", 0)).failures).toEqual([]);
});

test("an app that fails all the time does not push out the failures of others", async () => {
  await serve();
  await get("/before", "victim.test");
  for (let count = 0; count < 300; count += 1) await get(`/none/${"x".repeat(200)}${count}`);
  await get("/after", "victim.test");
  const { failures } = await edge.failures(victim, 0);
  expect(failures.map(({ path }) => path)).toEqual(expect.arrayContaining(["/before", "/after"]));
  // A part of its own is kept.
  const kept = (await edge.failures(shop, 0)).failures.filter(({ path }) => path.includes("xxx"));
  expect(kept.length).toBeGreaterThan(10);
  expect(kept.length).toBeLessThan(300);
});

test("lines that are torn or foreign are no failures, and old files go", async () => {
  expect(
    toldFailures(
      [
        "<6>2026-11-30T14:19:00.917611+00:00 |503|SC|b0/s0|1|x|GET|/",
        `<6>never ${shop}|503|SC|b0/s0|1|x|GET|/`,
        `<6>2026-11-30T14:19:00.917611+00:00 ${shop}|200|--|b0/s0|1|x|GET|/`,
        `<6>2026-11-30T14:19:00.917611+00:00 ${shop}|502|SH|b0/s0|+1|x|GET|\\/a`,
        "Unknown command",
      ].join("\n"),
    ).map(({ failure }) => [failure.status, failure.path]),
  ).toEqual([[502, "/a"]]);
  const kept = new Failures(folder);
  const files = join(folder, "failures");
  expect(await readdir(files)).toContain(shop);
  const old = new Date(Date.now() - 8 * 86_400_000);
  await utimes(join(files, shop), old, old);
  await kept.sweep();
  expect(await readdir(files)).not.toContain(shop);
});

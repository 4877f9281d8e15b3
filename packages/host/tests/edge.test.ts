// The proxy in front of apps: a real HAProxy, with servers of this machine in the place of guests.

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { connect as connectHttp2 } from "node:http2";
import { createServer as createTcpServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { EdgeDocument } from "@skerry/contract/host-api/edge";
import { Edge } from "../src/edge/edge.ts";
import { proxyFiles } from "../src/edge/proxy-files.ts";
import { findByUid } from "../src/vm/qemu/process.ts";
import { freePort, instance, upgraded, until } from "./support/edge-instances.ts";
import { testEdgeUid } from "./support/network.ts";

import {
  ask,
  begin,
  edge,
  failing,
  gone,
  leave,
  listen,
  options,
  published,
  serve,
  servedBy,
  version,
} from "./support/edge-rig.ts";

test("a route leads to its app by name and longest prefix, and what is none says so", async () => {
  const [web, api] = [await instance("web"), await instance("api")];
  const state = await serve(
    { web: [web], api: [api], none: [] },
    {
      "shop.test/": "web",
      "shop.test/api/": "api",
      "idle.test/": "none",
    },
  );
  expect(state).toMatchObject({ version, fault: null });
  expect(await servedBy("SHOP.test:7080", "/apix")).toBe("web");
  expect(await servedBy("shop.test", "/api")).toBe("api");
  expect(await servedBy("shop.test", "/api/1?x=/y")).toBe("api");
  expect(await ask("other.test")).toMatchObject({ status: 404, code: "route_not_found" });
  const idle = await ask("idle.test");
  expect(idle).toMatchObject({ status: 503, code: "app_unavailable" });
  expect(idle.request_id).toMatch(/^[0-9a-f-]{36}$/);
  expect(published).toEqual(expect.arrayContaining([`web ${web.port}`, `api ${api.port}`]));
});

test("headers that tell of the client are the proxy's own", async () => {
  await serve({ web: [await instance("web")] }, { "shop.test/": "web" });
  const { headers = {} } = await ask("shop.test", "/", {
    ...{ "X-Forwarded-For": "6.6.6.6", "X-Forwarded-User": "root", Forwarded: "for=6.6.6.6" },
    ...{
      "X-Request-Id": "mine",
      Upgrade: "h2c",
      Connection: "Upgrade, HTTP2-Settings",
      "HTTP2-Settings": "AA",
    },
  });
  expect(headers).toMatchObject({
    "x-forwarded-for": "127.0.0.1",
    "x-forwarded-host": "shop.test",
    "x-forwarded-proto": "http",
    forwarded: 'for=127.0.0.1;proto=http;host="shop.test"',
  });
  expect(Object.keys(headers)).not.toEqual(
    expect.arrayContaining([expect.stringMatching(/^(x-forwarded-user|upgrade|http2-settings)$/)]),
  );
  expect(headers["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
});

test("sixty changes of instances under load lose no request, over HTTP/1.1 and HTTP/2", async () => {
  const all = await Promise.all(["a", "b", "c", "d", "e", "f"].map((vm) => instance(vm)));
  const pair = (n: number) => [all[n % 6], all[(n + 1) % 6]].filter((one) => one !== undefined);
  await serve({ web: pair(0) }, { "shop.test/": "web" });
  const load = new AbortController();
  const failures: string[] = [];
  let answered = 0;
  const again = async (call: () => Promise<boolean>): Promise<void> => {
    while (!load.signal.aborted)
      await call().then(
        (isWell) => (isWell ? (answered += 1) : failures.push("another answer")),
        (error: unknown) => failures.push(String(error)),
      );
  };
  const session = connectHttp2(`http://${listen}`);
  const over2 = () =>
    new Promise<boolean>((resolve, reject) => {
      const stream = session.request({ ":path": "/", ":authority": "shop.test" });
      stream.once("response", (head) => resolve(head[":status"] === 200));
      stream.once("error", reject);
      stream.resume().end();
    });
  const working = [
    ...Array.from({ length: 6 }, () => again(async () => (await ask("shop.test")).status === 200)),
    again(async () => (await ask("shop.test", "/slow")).status === 200),
    again(over2),
  ];
  for (let n = 1; n <= 60; n += 1) {
    const [leaving] = pair(n - 1);
    if (leaving === undefined) throw new Error("none leaves");
    await serve({ web: [...pair(n), { ...leaving, state: "draining" }] }, { "shop.test/": "web" });
    await until("it has nothing to do any more", async () => {
      const { instances } = await edge.state();
      return instances.every((one) => one.status !== "draining" || one.sessions === 0);
    });
    await serve({ web: pair(n) }, { "shop.test/": "web" });
  }
  load.abort();
  await Promise.all(working);
  session.close();
  expect(failures).toEqual([]);
  expect(answered).toBeGreaterThan(100);
});

test("one that drains keeps its connections, and they are cut when it is taken out", async () => {
  const [old, next] = [await instance("old"), await instance("next")];
  await serve({ web: [old] }, { "shop.test/": "web" });
  const socket = await upgraded(listen, "shop.test");
  await serve({ web: [{ ...old, state: "draining" }, next] }, { "shop.test/": "web" });
  expect(await servedBy("shop.test")).toBe("next");
  const draining = async () => (await edge.state()).instances.find(({ vm }) => vm === "old");
  expect(await draining()).toMatchObject({ status: "draining", sessions: 1 });
  expect(await socket.echo("still there")).toBe("still there");
  await serve({ web: [next] }, { "shop.test/": "web" });
  await socket.closed;
  expect(await draining()).toBeUndefined();
});

test("a proxy that was killed is back with what it served, and so is one that another host process finds", async () => {
  await serve({ web: [await instance("web")] }, { "shop.test/": "web" });
  for (const { identity } of await findByUid({ first: testEdgeUid, count: 1 }))
    process.kill(identity.pid, "SIGKILL");
  await until("it serves again", async () => (await servedBy("shop.test").catch(() => undefined)) === "web");
  await leave();
  expect(await servedBy("shop.test")).toBe("web");
  await begin();
  await until("the other process knows it", async () => (await edge.state()).version === version);
  expect(await servedBy("shop.test")).toBe("web");
});

test("an earlier document changes nothing", async () => {
  const [one, other] = [await instance("one"), await instance("other")];
  await serve({ web: [one] }, { "shop.test/": "web" });
  const late: EdgeDocument = {
    version: version - 1,
    backends: [{ id: "web", protocol: "http", instances: [other] }],
    routes: [],
  };
  expect((await edge.apply(late)).version).toBe(version);
  expect(await servedBy("shop.test")).toBe("one");
});

test("one whose check fails, or that has ended, gets no requests; where all fail, all go on getting them", async () => {
  const [one, other] = [await instance("one"), await instance("other")];
  await serve({ web: [one, other] }, { "shop.test/": "web" });
  failing.add("one");
  await until("it is out", async () => (await edge.state()).instances.some(({ status }) => status === "out"));
  for (let n = 0; n < 4; n += 1) expect(await servedBy("shop.test")).toBe("other");
  failing.add("other");
  await until("both serve", async () =>
    (await edge.state()).instances.every(({ status }) => status === "serving"),
  );
  gone.add("other");
  await edge.leave("127.0.0.1");
  for (let n = 0; n < 4; n += 1) expect(await servedBy("shop.test")).toBe("one");
  gone.add("one");
  await edge.leave("127.0.0.1");
  expect(await ask("shop.test")).toMatchObject({ status: 503, code: "app_unavailable" });
});

test("seats that change between tenants lead no request of one to the other", async () => {
  const [mine, theirs] = [await instance("mine"), await instance("theirs")];
  const routes = { "mine.test/": "mine", "theirs.test/": "theirs" };
  const wrong: string[] = [];
  for (let n = 0; n < 20; n += 1) {
    await serve(
      n % 2 === 0 ? { mine: [mine], theirs: [theirs] } : { theirs: [theirs], mine: [mine] },
      routes,
    );
    const seen = await Promise.all(
      ["mine", "theirs"].map(async (one) => `${one} ${await servedBy(`${one}.test`)}`),
    );
    wrong.push(...seen.filter((one) => !["mine mine", "theirs theirs"].includes(one)));
    await serve({}, {});
  }
  expect(wrong).toEqual([]);
});

test("more backends and instances than it has places for make it begin anew, without a lost request", async () => {
  const [web, more] = [await instance("web"), await instance("more")];
  await serve({ web: [web] }, { "shop.test/": "web" });
  const failures: unknown[] = [];
  let isOver = false;
  const load = (async () => {
    while (!isOver)
      await servedBy("shop.test").then(
        (vm) => vm === "web" || failures.push(vm),
        (error) => failures.push(error),
      );
  })();
  const many = Array.from({ length: 150 }, (_, n) => [`b${n}`, [more]] as const);
  const routes = Object.fromEntries(many.map(([id]) => [`${id}.test/`, id]));
  const state = await serve({ web: [web], ...Object.fromEntries(many) }, { "shop.test/": "web", ...routes });
  isOver = true;
  await load;
  expect(state).toMatchObject({ version, fault: null });
  expect(failures).toEqual([]);
  expect(await servedBy("b149.test")).toBe("more");
  expect(await servedBy("shop.test")).toBe("web");
});

test("what cannot be served is told, and its commands' socket is for root alone", async () => {
  const taken = createTcpServer();
  const port = await freePort();
  await new Promise<void>((resolve) => taken.listen(port, "127.0.0.1", resolve));
  const apart = await mkdtemp(join(tmpdir(), "skerry-unit-edge-"));
  try {
    const other = await Edge.open({
      ...options,
      folder: apart,
      listen: `127.0.0.1:${port}`,
      uid: testEdgeUid + 100_000,
    });
    const state = await other.apply({ version: 1, backends: [], routes: [] });
    expect(state).toMatchObject({
      version: 0,
      fault: expect.stringContaining("the proxy does not start") as string,
    });
    expect(await readFile(proxyFiles(apart).config, "utf8")).toContain("mode 600");
  } finally {
    taken.close();
    await rm(apart, { recursive: true, force: true });
  }
});

test("requests are counted by instance, over another configuration and over the next instance of a seat", async () => {
  const [one, two] = [await instance("one"), await instance("two")];
  const counted = async () =>
    Object.fromEntries((await edge.traffic()).instances.map(({ vm, requests }) => [vm, requests]));
  await serve({ a: [one] }, { "a.test/": "a" });
  for (let count = 0; count < 3; count += 1) await ask("a.test");
  expect(await counted()).toEqual({ one: 3 });
  await ask("a.test");
  await serve({ a: [two] }, { "a.test/": "a" });
  await ask("a.test");
  expect(await counted()).toEqual({ one: 4, two: 1 });
  // More places than there are: the proxy begins anew.
  const more = Object.fromEntries(Array.from({ length: 80 }, (_, index) => [`more-${index}`, [one]]));
  await serve({ a: [two], ...more }, { "a.test/": "a" });
  await ask("a.test");
  expect((await edge.traffic()).instances.find(({ vm }) => vm === "two")).toMatchObject({
    ...{ requests: 2, server_errors: 0 },
    received_bytes: expect.any(Number) as number,
  });
});

// The proxy of a host whose own process begins anew, and a microVM whose ports cannot be opened.

import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { findByUid } from "../src/vm/qemu/process.ts";
import { instance, until, upgraded } from "./support/edge-instances.ts";
import { begin, edge, folder, leave, listen, options, serve, servedBy } from "./support/edge-rig.ts";
import { testEdgeUid } from "./support/network.ts";

const pids = async (): Promise<number[]> =>
  (await findByUid({ first: testEdgeUid, count: 1 })).map(({ identity }) => identity.pid);

test("a process that begins goes on with the proxy that runs, and counts connections that drain", async () => {
  const [old, next] = [await instance("old"), await instance("next")];
  await serve({ web: [old] }, { "shop.test/": "web" });
  const open = await upgraded(listen, "shop.test");
  await serve({ web: [{ ...old, state: "draining" }, next] }, { "shop.test/": "web" });
  const before = await pids();
  await leave();
  await begin();
  await until("it is told", async () => (await edge.state()).instances.length === 2);
  expect(await pids()).toEqual(before);
  const drained = (await edge.state()).instances.find(({ vm }) => vm === "old");
  expect(drained).toMatchObject({ status: "draining", sessions: 1 });
  expect(await open.echo("still there")).toBe("still there");
  expect(await servedBy("shop.test")).toBe("next");
  // Requests of before are counted already.
  const counts = (await edge.traffic()).instances.find(({ vm }) => vm === "old");
  expect(counts?.requests ?? 0).toBe(0);
  const third = await instance("third");
  await serve({ web: [third] }, { "shop.test/": "web" });
  expect(await servedBy("shop.test")).toBe("third");
  expect(await pids()).toEqual(before);
  await open.closed;
});

test.each(["is gone", "is of another configuration", "is not to be read"])(
  "where what the proxy was told %s it is told all anew",
  async (what) => {
    await serve({ web: [await instance("one")] }, { "shop.test/": "web" });
    const before = await pids();
    await leave();
    const told = join(folder, "told.json");
    if (what === "is gone") await rm(told);
    else if (what === "is not to be read") await writeFile(told, "{");
    else Object.assign(options, { perAddress: options.perAddress + 1 });
    await begin();
    await until("the next one serves", async () => (await pids()).some((pid) => !before.includes(pid)));
    expect(await servedBy("shop.test")).toBe("one");
  },
);

test("a microVM whose ports cannot be opened keeps no other one from its requests", async () => {
  const [good, bad] = [await instance("good"), await instance("bad")];
  const publish = vi.spyOn(options.vms, "publish").mockImplementation(async ({ vm }) => {
    if (vm === "bad") throw new Error("its namespace is broken");
  });
  const state = await serve({ web: [good], other: [bad] }, { "shop.test/": "web", "bad.test/": "other" });
  expect(state.fault).toBeNull();
  expect(state.instances.map(({ vm, status }) => [vm, status])).toEqual([
    ["good", "serving"],
    ["bad", "out"],
  ]);
  expect(await servedBy("shop.test")).toBe("good");
  publish.mockRestore();
  await until("it is tried again", async () => (await servedBy("bad.test")) === "bad");
});

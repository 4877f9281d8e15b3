// Manners of routes, at a real HAProxy.

import { expect, test } from "vitest";
import type { EdgeDocument, EdgeInstance } from "@skerry/contract/host-api/edge";
import { instance } from "./support/edge-instances.ts";
import { ask, edge, nextVersion } from "./support/edge-rig.ts";

test("a route takes its prefix away, limits each client's requests, keeps a client at one instance, and has few at once", async () => {
  const [one, two] = [await instance("one"), await instance("two")];
  const route = (path_prefix: string, backend: string, more: object) => ({
    ...{ host: "app.test", path_prefix, backend },
    ...more,
  });
  const document = (state: EdgeInstance["state"]): EdgeDocument => ({
    version: nextVersion(),
    backends: [
      { id: "plain", protocol: "http", instances: [two] },
      { id: "sticky", protocol: "http", sticky: true, concurrency: 1, instances: [{ ...one, state }, two] },
    ],
    routes: [
      route("/", "plain", {}),
      route("/a/", "plain", { strip_prefix: true }),
      route("/a/b/c/", "plain", { strip_prefix: true }),
      route("/few/", "plain", { rate_limit: 1 }),
      route("/same/", "sticky", {}),
    ],
  });
  await edge.apply(document("serving"));
  const url = async (path: string) => (await ask("app.test", path)).url;
  expect(await Promise.all(["/a", "/a/", "/a/x/y?q=1", "/ab", "/a/b/c/d/"].map(url))).toEqual([
    ...["/", "/", "/x/y?q=1", "/ab", "/d/"],
  ]);
  const statuses = await Promise.all(Array.from({ length: 60 }, () => ask("app.test", "/few/")));
  expect(statuses.some(({ status }) => status === 200)).toBe(true);
  expect(statuses.find(({ status }) => status === 429)).toMatchObject({ code: "rate_limited" });
  expect((await ask("app.test", "/")).status).toBe(200);
  const cookie = "skerry_instance=s0";
  const same = () => ask("app.test", "/same/slow", { cookie });
  const answers = await Promise.all([same(), same(), same()]);
  expect(answers.map(({ vm, at_once }) => [vm, at_once])).toEqual(Array(3).fill(["one", 1]));
  // A client whose instance drains goes to another one.
  await edge.apply(document("draining"));
  expect((await same()).vm).toBe("two");
});

test("a route in maintenance is answered by the proxy, and the others as before", async () => {
  const one = await instance("one");
  const told = (maintenance: boolean): EdgeDocument => ({
    version: nextVersion(),
    backends: [{ id: "a", protocol: "http", instances: [one] }],
    routes: [
      { host: "a.test", path_prefix: "/", backend: "a", ...(maintenance && { maintenance }) },
      { host: "b.test", path_prefix: "/", backend: "a" },
    ],
  });
  await edge.apply(told(true));
  expect(await ask("a.test", "/x")).toMatchObject({ status: 503, code: "app_in_maintenance" });
  expect((await ask("b.test")).status).toBe(200);
  await edge.apply(told(false));
  expect((await ask("a.test")).status).toBe(200);
});

// Shares of organizations in what one proxy can serve.

import { expect, test } from "vitest";
import { EDGE_BACKENDS_MAX, EDGE_ROUTES_MAX } from "@skerry/contract/apps/app-bounds";
import { fitting } from "../src/apps/edge/edge-shares.ts";

const app = (org_id: string, backends: number, routes = 1) => ({
  ...{ org_id, backends: Array.from({ length: backends }, () => 0) },
  routes: Array.from({ length: routes }, () => 0),
});

test("all have room while they fit, however they are shared", () => {
  const all = [app("one", EDGE_BACKENDS_MAX - 2), app("other", 1), app("one", 1)];
  expect(fitting(all).size).toBe(3);
});

test("an organization that takes all leaves out its own newest app, and none of others", () => {
  const [old, small, greedy] = [app("greedy", 6_000), app("small", 10), app("greedy", 6_000)];
  const late = app("late", 50);
  const fit = fitting([old, small, greedy, late]);
  expect([old, small, greedy, late].map((one) => fit.has(one))).toEqual([true, true, false, true]);
  const routes = app("greedy", 1, EDGE_ROUTES_MAX);
  expect(fitting([routes, small]).has(small)).toBe(true);
  expect(fitting([routes, small]).has(routes)).toBe(false);
});

test("no app is left out for a larger one of the same organization that comes after it", () => {
  const all = [app("one", 4_000), app("one", 7_000), app("one", 4_000)];
  expect([...fitting(all)]).toEqual([all[0], all[2]]);
});

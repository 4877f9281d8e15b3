import { expect, test } from "vitest";
import { BoundedMap } from "../src/values/bounded-map.ts";

test("a bounded map drops the entry that was set longest ago", () => {
  const map = new BoundedMap<string, number>(2);
  map.set("a", 1);
  map.set("b", 2);
  map.set("a", 3);
  map.set("c", 4);
  expect([map.get("a"), map.has("b"), map.get("c"), map.size]).toEqual([3, false, 4, 2]);
  map.deleteWhere((value) => value === 3);
  map.delete("c");
  expect(map.size).toBe(0);
});

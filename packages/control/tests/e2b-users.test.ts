// Users of a sandbox, whose /etc/passwd is written by a hostile guest.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { KNOWN_MS, KnownUsers, USERS_PER_SANDBOX_MAX } from "../src/e2b/known-users.ts";
import { parsePasswd } from "../src/e2b/passwd.ts";

const user = (name: string) => ({ name, uid: 1, gid: 1, home: `/home/${name}` });

test("the first line of a name counts, and what is no user is left out", () => {
  const lines = [
    "a:x:1:2::/home/a:/bin/sh",
    "a:x:0:0::/root:/bin/sh",
    "no number:x:1:1::/:",
    "b:x:-1:1::/:",
    "c:x:1:1::home:",
    `long:x:1:1::/${"é".repeat(2_048)}:`,
    `fits:x:1:1::/${"x".repeat(4_095)}:`,
  ];
  const users = parsePasswd(lines.join("\n"));
  expect([...users.keys()].toSorted()).toEqual(["a", "fits"]);
  expect(users.get("a")).toEqual({ name: "a", uid: 1, gid: 2, home: "/home/a" });
});

test("a user is known for a while", () => {
  const known = new KnownUsers();
  known.set("sandbox", "a", { user: user("a"), nowMs: 0 });
  expect(known.get("sandbox", "a", KNOWN_MS - 1)).toEqual(user("a"));
  expect(known.get("another", "a", 0)).toBeUndefined();
  expect(known.get("sandbox", "a", KNOWN_MS)).toBeUndefined();
  known.set("another", "b", { user: user("b"), nowMs: KNOWN_MS });
  expect([known.count("sandbox"), known.count("another")]).toEqual([0, 1]);
});

test("a sandbox with many users takes no room from another", () => {
  const known = new KnownUsers();
  known.set("quiet", "a", { user: user("a"), nowMs: 0 });
  for (let index = 0; index < 5_000; index++)
    known.set("greedy", `user${index}`, { user: user(`user${index}`), nowMs: 1 });
  expect(known.count("greedy")).toBe(USERS_PER_SANDBOX_MAX);
  expect(known.get("greedy", "user4999", 1)).toEqual(user("user4999"));
  expect(known.get("quiet", "a", 1)).toEqual(user("a"));
});

test("what is known of a user does not keep the whole file in memory", () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const known = new KnownUsers();
  const heapBytes = () => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const before = heapBytes();
  for (let index = 0; index < 200; index++) {
    const name = `a-name-that-is-cut-out-${index}`;
    const text = `${name}:x:1:1::/home/of/a/user/of/this/file:\n${"#".repeat(250_000)}`;
    const found = parsePasswd(Buffer.from(text).toString("utf8")).get(name);
    if (found === undefined) throw new Error("the user was not found");
    known.set(`sandbox ${index}`, name, { user: found, nowMs: 0 });
  }
  expect(heapBytes() - before).toBeLessThan(10_000_000);
  expect(known.count("sandbox 0")).toBe(1);
});

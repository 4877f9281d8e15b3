import { expect, test } from "vitest";
import { BatchLoader } from "../src/db/batch-loader.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();

test("look-ups of the same moment are one query, and each gets its own row or none", async () => {
  const asked: (readonly string[])[] = [];
  const batches = new BatchLoader<string>(async (_db, keys) => {
    asked.push(keys);
    return keys.filter((key) => key !== "nobody").map((key) => [key, `row of ${key}`] as const);
  });
  const keys = ["a", "b", "nobody", "a"];
  const found = await Promise.all(keys.map((key) => batches.find(world.db, key)));
  expect(found).toEqual(["row of a", "row of b", undefined, "row of a"]);
  expect(asked).toEqual([["a", "b", "nobody"]]);
});

test("a look-up never takes the answer of a query that began before it", async () => {
  let stored = "old";
  const begun = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  const batches = new BatchLoader<string>(async (_db, [key = ""]) => {
    const read = stored;
    begun.resolve();
    await answer.promise;
    return [[key, read]];
  });
  const early = batches.find(world.db, "a");
  await begun.promise;
  stored = "new";
  const late = batches.find(world.db, "a");
  answer.resolve();
  expect(await Promise.all([early, late])).toEqual(["old", "new"]);
});

test("a query holds a bounded number of keys, and one that fails fails only those who asked by it", async () => {
  const sizes: number[] = [];
  const batches = new BatchLoader<string>(async (_db, keys) => {
    sizes.push(keys.length);
    if (keys.includes("0")) throw new Error("broken");
    return keys.map((key) => [key, key] as const);
  });
  const all = Array.from({ length: 250 }, (_, index) => batches.find(world.db, String(index)));
  const settled = await Promise.allSettled(all);
  expect(sizes).toEqual([100, 100, 50]);
  expect(settled.map(({ status }) => status)).toEqual(
    settled.map((_, index) => (index < 100 ? "rejected" : "fulfilled")),
  );
});

test("sandboxes that are read at the same time stay with their organizations", async () => {
  const { id } = await world.createSandbox();
  const stranger = await world.strangerToken();
  const read = (token: string) => world.call("GET", `/v1/sandboxes/${id}`, { token });
  const answers = await Promise.all(
    [0, 1, 2, 3, 4, 5].map((n) => read(n % 2 === 0 ? world.token : stranger)),
  );
  expect(answers.map(({ status }) => status)).toEqual([200, 404, 200, 404, 200, 404]);
});

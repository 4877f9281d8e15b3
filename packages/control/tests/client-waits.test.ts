// Waits for the status of a resource, and what follows it as it changes, in both clients.

import { afterAll, beforeAll, expect, test } from "vitest";
import { Skerry, SkerryApiError, SkerryStatusError } from "@skerry/sdk";
import { newBuild } from "./support/builds.ts";
import { CommandBatch, PythonBatch } from "./support/client-batches.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
let skerry: Skerry;
let python: PythonBatch;
let commands: CommandBatch;

beforeAll(async () => {
  await world.beat();
  skerry = new Skerry({ baseUrl: world.url, token: world.token });
  python = PythonBatch.start({ url: world.url, token: world.token });
  commands = await CommandBatch.start({ url: world.url, token: world.token });
});
afterAll(async () => {
  await python[Symbol.asyncDispose]();
  await commands[Symbol.asyncDispose]();
});

async function sandbox() {
  return skerry.sandboxes.create({ template: "base", mode: "persistent" });
}

test("a resource is followed from what it is, through each change, until its reader leaves", async () => {
  const { id } = await newBuild(world, { context: true });
  const seen: string[] = [];
  for await (const { status } of skerry.builds.follow(id)) {
    if (seen.length === 0) await skerry.builds.cancel(id);
    seen.push(status);
    if (status === "canceled") break;
  }
  expect(seen[0]).toBe("queued");
  expect(seen.at(-1)).toBe("canceled");
});

test("a status that is there already, or comes, ends the wait", async () => {
  const made = await sandbox();
  expect((await skerry.sandboxes.wait(made.id, "running")).id).toBe(made.id);
  const waits = made.wait(["paused", "destroyed"]);
  await skerry.sandboxes.pause(made.id);
  expect((await waits).status).toBe("paused");
  await made.destroy();
});

test("a wait by a name goes on with the resource that had it", async () => {
  const made = await skerry.sandboxes.create({ template: "base", name: "web" });
  const waits = [
    skerry.sandboxes.wait("web", "destroyed"),
    python.evaluate("asyncio", 'skerry.sandboxes.wait("web", "destroyed")'),
    commands.run({ words: ["sandbox", "get", "web", "--wait", "destroyed", "--json"], input: "" }),
  ];
  await expect(skerry.sandboxes.wait("web", "paused", { timeoutMs: 300 })).rejects.toThrow(
    "It is running, and not paused in time.",
  );
  await made.destroy();
  const [own, ofPython, printed] = await Promise.all(waits);
  expect(own).toMatchObject({ id: made.id, status: "destroyed" });
  expect(ofPython).toMatchObject({ id: made.id, status: "destroyed" });
  expect(printed).toMatchObject({ code: 0, stdout: expect.stringContaining(made.id) as string });
});

test("more waits than a token may have streams of events all end", async () => {
  const { id } = await newBuild(world, { context: true });
  const waits = Array.from({ length: 12 }, async () => skerry.builds.wait(id, "canceled"));
  await skerry.builds.cancel(id);
  expect((await Promise.all(waits)).map(({ status }) => status)).toEqual(Array(12).fill("canceled"));
});

test("a resource that has ended otherwise ends the wait with its last state", async () => {
  const { id } = await newBuild(world, { context: true });
  const waits = skerry.builds.wait(id, "ready").catch((error: unknown) => error);
  await skerry.builds.cancel(id);
  const error = await waits;
  expect(error).toBeInstanceOf(SkerryStatusError);
  expect(error).toMatchObject({ code: "status_not_reached", resource: { id, status: "canceled" } });
  await expect(python.evaluate("python", `skerry.builds.wait("${id}", "ready")`)).rejects.toThrow(
    /SkerryStatusError.*It is canceled, and will not be ready/,
  );
});

test("a resource that there is not, and a caller that stops waiting, end it at once", async () => {
  const missing = "bld_00000000000000000000000000";
  await expect(skerry.builds.wait(missing, "ready")).rejects.toBeInstanceOf(SkerryApiError);
  const { id } = await newBuild(world, { context: true });
  const stop = new AbortController();
  const waits = skerry.builds.wait(id, "ready", { signal: stop.signal });
  stop.abort(new Error("enough"));
  await expect(waits).rejects.toThrow("enough");
});

test.each(["python", "asyncio"] as const)(
  "%s waits for a status, for as long as it is told",
  async (client) => {
    const made = await sandbox();
    const call = (until: string, rest = "") =>
      python.evaluate(client, `skerry.sandboxes.wait("${made.id}", ${until}${rest})`);
    expect(await call('["paused", "running"]')).toMatchObject({ id: made.id, status: "running" });
    await expect(call('"paused"', ", timeout_s=0")).rejects.toThrow(/It is running, and not paused in time/);
    await made.destroy();
  },
);

test("the command line waits for a status by --wait, and fails where that will not come", async () => {
  const { id } = await newBuild(world, { context: true });
  const show = (until: string) =>
    commands.run({ words: ["build", "show", id, "--wait", until, "--json"], input: "" });
  const waits = show("canceled");
  await skerry.builds.cancel(id);
  const ended = await waits;
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  expect(JSON.parse(ended.stdout)).toMatchObject({ id, status: "canceled" });
  const failed = await show("ready");
  expect(failed).toMatchObject({ code: 1, stdout: "" });
  expect(JSON.parse(failed.stderr)).toMatchObject({ code: "status_not_reached" });
});

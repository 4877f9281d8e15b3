import { createHash, randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Sandbox } from "../packages/sdk/src/skerry.ts";
import { sharedPlatform } from "./support/shared.ts";

const platform = await sharedPlatform();
let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await platform.client.sandboxes.create({
    template: "base",
    timeout: "10m",
    env: { GREETING: "hello" },
  });
});

afterAll(() => sandbox.destroy());

test("a command runs in a microVM with its own kernel, and its output comes back", async () => {
  const run = await sandbox.execute('echo "$GREETING from $(uname -r)"; echo oops >&2; exit 3');
  expect(run.stdout).toMatch(/^hello from 6\.1\..*cloud-amd64\n$/);
  expect(run).toMatchObject({
    stderr: "oops\n",
    exit_code: 3,
    timed_out: false,
    signal: null,
    truncated: false,
  });
});

test("a random binary file comes back as it went in", async () => {
  const bytes = randomBytes(5_000_001);
  await sandbox.upload("/data/deep/random.bin", bytes);
  const seen = await sandbox.execute("sha256sum /data/deep/random.bin");
  expect(seen.stdout.split(" ")[0]).toBe(createHash("sha256").update(bytes).digest("hex"));
  expect(Buffer.from(await sandbox.download("/data/deep/random.bin")).equals(bytes)).toBe(true);
});

test("a destroyed sandbox is gone, and destroying it again is no error", async () => {
  const other = await platform.client.sandboxes.create({ template: "base" });
  await other.destroy();
  await other.destroy();
  await other.refresh();
  expect(other.info).toMatchObject({ status: "destroyed" });
  await expect(other.execute("true")).rejects.toMatchObject({ code: "sandbox_not_running" });
});

// Secrets in real microVMs: the guest has them, and nothing else on the machine does.

import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, inject, test } from "vitest";
import { ArchiveReader } from "../packages/cli/src/local/backup/archive.ts";
import { DATABASE } from "../packages/cli/src/local/backup/manifest.ts";
import { Sandbox } from "../packages/sdk/src/skerry.ts";
import { fullTest } from "./support/full-test.ts";
import { run } from "./support/run.ts";
import { sampled } from "./support/sampling.ts";
import {
  inventory,
  serverPid,
  skerry,
  startPlatform,
  until,
  untilReplaced,
  waitingClones,
} from "./support/platform.ts";

const platform = await startPlatform({ assets: inject("assets") });
afterAll(() => platform.stop());
const { client } = platform;

const VALUE = "planted-8Qw3vZ51xT-value";
const forms = ["utf8", "hex", "base64", "base64url"].map((encoding) =>
  // The last character of a base64 text depends on what follows it.
  Buffer.from(VALUE)
    .toString(encoding as BufferEncoding)
    .slice(0, -2),
);
const PRINT = "echo $API_KEY";
const printed = async (sandbox: Sandbox): Promise<string> => (await sandbox.execute(PRINT)).stdout.trim();
const printedIn = async (machine: string): Promise<string> =>
  (await client.machines.execute(machine, PRINT)).stdout.trim();

/** Rows of a backup, as SQL that can be read. */
async function dumpInto(path: string): Promise<void> {
  const backup = join(platform.state, "skerry.backup");
  await skerry(platform.env, "backup", backup);
  await using archive = await ArchiveReader.open(backup);
  await writeFile(`${path}.part`, archive.content(DATABASE));
  await run("pg_restore", "-f", path, `${path}.part`);
  for (const file of [backup, `${path}.part`]) await rm(file);
}

/** Below the platform's folder, with those of the database and its log of changes. */
function filesWith(...texts: readonly string[]): Promise<string> {
  const patterns = texts.flatMap((text) => ["-e", text]);
  return run("sh", "-c", 'grep -rlaF -D skip "$@" || test $? = 1', "sh", ...patterns, platform.state);
}

test("a waiting clone, a new one and a machine have a secret, and no file, row, command line or environment of the host does", async () => {
  await client.secrets.set("API_KEY", { value: VALUE });
  await until("a clone waits", async () => (await waitingClones(platform)).length > 0);
  const secrets = [{ name: "API_KEY" }];
  const sandboxes = [
    await client.sandboxes.create({ template: "base", secrets }),
    await client.sandboxes.create({ template: "base", size: "shared-cpu-2x", secrets }),
  ];
  const machine = await client.machines.create({ template: "base", command: "sleep 1000", secrets });
  for (const sandbox of sandboxes) expect(await printed(sandbox)).toBe(VALUE);
  expect(await printedIn(machine.id)).toBe(VALUE);
  await dumpInto(join(platform.state, "dump.sql"));
  expect(await filesWith("API_KEY")).toContain("dump.sql");
  expect(await filesWith(...forms)).toBe("");
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name)))
    for (const file of ["cmdline", "environ"]) {
      const text = await readFile(join("/proc", pid, file), "latin1").catch(() => "");
      for (const form of forms) expect(`${pid} ${file} ${text.includes(form)}`).toBe(`${pid} ${file} false`);
    }
  await Promise.all(sandboxes.map((sandbox) => sandbox.destroy()));
  await client.machines.destroy(machine.id);
});

test("a sandbox that is resumed, its forks and what begins at its snapshot have the value of then, or none", async () => {
  await client.secrets.set("API_KEY", { value: "first" });
  const sandbox = await client.sandboxes.create({
    template: "base",
    mode: "persistent",
    secrets: [{ name: "API_KEY" }],
  });
  expect(await printed(sandbox)).toBe("first");
  await sandbox.pause();
  await client.secrets.set("API_KEY", { value: "second" });
  await sandbox.resume();
  expect(await printed(sandbox)).toBe("second");
  const snapshot = await sandbox.snapshot();
  expect(snapshot.contains_secrets).toBe(true);
  await client.secrets.set("API_KEY", { value: "third" });
  const [fork] = await sandbox.fork();
  if (fork === undefined) throw new Error("no fork");
  expect(await printed(fork)).toBe("third");
  expect(await client.secrets.delete("API_KEY")).toMatchObject({
    still_in: expect.arrayContaining([sandbox.id, fork.id]) as string[],
  });
  await sandbox.rollback(snapshot.id);
  expect(await printed(sandbox)).toBe("");
  const begun = await client.sandboxes.create({ snapshot: snapshot.id });
  expect(await printed(begun)).toBe("");
  await Promise.all([sandbox, fork, begun].map((vm) => vm.destroy()));
});

test("a machine that starts again has the newest version, and says which one", async () => {
  await client.secrets.set("API_KEY", { value: "first" });
  const { id } = await client.machines.create({
    template: "base",
    command: "echo it is $API_KEY; sleep 1000",
    secrets: [{ name: "API_KEY" }],
  });
  expect(await printedIn(id)).toBe("first");
  await client.secrets.set("API_KEY", { value: "second" });
  await client.machines.restart(id);
  expect((await client.machines.get(id)).secrets).toMatchObject([
    { name: "API_KEY", version: expect.any(Number) as number },
  ]);
  expect(await printedIn(id)).toBe("second");
  await client.machines.destroy(id);
});

const stepsOfWakeMs = [0, 20, 60, 120, 250, 600];

test.each(["control", "host"] as const)(
  "a wake in which %s is killed ends with the secret or with an error, and leaves no value behind",
  async (victim) => {
    await client.secrets.set("API_KEY", { value: VALUE });
    const secrets = [{ name: "API_KEY" }];
    const resting = await client.sandboxes.create({ template: "base", mode: "persistent", secrets });
    const wakes = {
      create: () => client.sandboxes.create({ template: "base", secrets }),
      async resume() {
        await resting.resume();
        return resting;
      },
    };
    for (const [name, wake] of Object.entries(wakes))
      for (const delayMs of sampled(`wakes of secrets ${victim} ${name}`, stepsOfWakeMs)) {
        const what = `${name} with ${victim} killed after ${delayMs} ms`;
        if (name === "resume") await resting.pause();
        const waking = wake().catch((error: unknown) => error);
        await sleep(delayMs);
        const pid = await serverPid(platform, victim);
        process.kill(pid, "SIGKILL");
        await untilReplaced(platform, victim, pid);
        const woken = await waking;
        await until("VM cleanup has nothing left", () =>
          inventory(platform).then(
            ({ unsettledRows }) => unsettledRows === 0,
            () => false,
          ),
        );
        if (name === "resume") await until(what, async () => (await printedAtLast(resting)) === VALUE);
        else if (woken instanceof Sandbox) {
          expect(await printedAtLast(woken), what).toBe(VALUE);
          await woken.destroy();
        } else expect(String(woken), what).toMatch(/^Skerry(Api|Connection)Error/);
        expect(await filesWith(...forms), what).toBe("");
      }
    await resting.destroy();
    await until("no file of a wake is left", async () => (await inMemory()).length === 0);
  },
);

/** Also while its servers come back. */
const printedAtLast = async (sandbox: Sandbox): Promise<string> => {
  let text = "";
  await until("a command has run", async () =>
    printed(sandbox).then(
      (seen) => {
        text = seen;
        return true;
      },
      () => false,
    ),
  );
  return text;
};
const inMemory = async () =>
  (await readdir("/dev/shm")).filter((name) => name.startsWith(`${platform.instance}:`));

fullTest(
  "a Dockerfile's step reads a secret, and neither a later step nor the template nor the host has it",
  async () => {
    await client.secrets.set("TOKEN", { value: VALUE });
    const text = [
      "FROM base",
      "RUN --mount=type=secret,id=TOKEN wc -c </run/secrets/TOKEN >/size",
      "RUN ls /run/secrets >/left || true",
    ].join("\n");
    const { template_id } = await client.templates.build(
      { name: "with-secret", context: true, dockerfile: { text }, secrets: [{ name: "TOKEN" }] },
      { context: new Blob([new Uint8Array(1024)]).stream() },
    );
    const sandbox = await client.sandboxes.create({ template: template_id ?? "" });
    expect((await sandbox.execute("cat /size /left")).stdout).toBe(`${VALUE.length}\n`);
    await sandbox.destroy();
    expect(await filesWith(...forms)).toBe("");
  },
);

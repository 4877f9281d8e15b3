// The built `skerry` command as a user types it, against the platform and with real microVMs: one journey,
// and what is said of this machine. The call of each command is in
// `packages/control/tests/client-calls.test.ts`; its output, its refusals and its exit codes are in
// `packages/cli/tests`.

import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, open, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { getSandbox } from "./support/api.ts";
import { sharedPlatform } from "./support/shared.ts";

const platform = await sharedPlatform();
const program = join(import.meta.dirname, "../dist/skerry.js");
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "skerry-cli-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function skerry(...args: readonly string[]): Promise<Ended> {
  return skerryReading("ignore", ...args);
}

/** `input`: what its standard input is, such as an open file. */
async function skerryReading(input: "ignore" | number, ...args: readonly string[]): Promise<Ended> {
  const child = spawn(process.execPath, [program, ...args], {
    cwd: folder,
    env: {
      PATH: process.env["PATH"],
      HOME: folder,
      SKERRY_API_URL: platform.apiUrl,
      SKERRY_API_TOKEN: platform.token,
      // The lines about waiting depend on how fast the machine is.
      SKERRY_QUIET: "1",
      // Where the commands look that concern this machine.
      SKERRY_STATE: platform.state,
      SKERRY_LISTEN: new URL(platform.apiUrl).host,
      SKERRY_HOST_ASSETS: inject("assets"),
    },
    stdio: [input, "pipe", "pipe"],
  });
  const { stdout, stderr } = child;
  if (stdout === null || stderr === null) throw new Error("it has no pipes");
  const [out, err, [code]] = await Promise.all([text(stdout), text(stderr), once(child, "close")]);
  return { code: code as number | null, stdout: out, stderr: err };
}

test("a sandbox is created, runs commands, takes files and gives them back, and is destroyed", async () => {
  const flags = [
    "--template",
    "base",
    "--timeout",
    "20m",
    "--env",
    "GREETING=x=y",
    "--egress-mode",
    "deny_all",
  ];
  const id = (await skerry("sandbox", "create", ...flags)).stdout.trim();
  expect(await getSandbox(platform, id)).toMatchObject({ status: "running", timeout: "20m" });

  const command = 'echo "$GREETING $PWD"; echo err >&2; exit 42';
  const ran = await skerry("sandbox", "exec", id, "--workdir", "/usr", command);
  expect(ran).toEqual({ code: 42, stdout: "x=y /usr\n", stderr: "err\n" });
  const words = ["printf", "%s|", "two words", "$HOME", "-x", "it's"];
  expect(await skerry("sandbox", "exec", id, "--", ...words)).toMatchObject({
    code: 0,
    stdout: "two words|$HOME|-x|it's|",
  });

  const bytes = randomBytes(1_000_003);
  const digest = createHash("sha256").update(bytes).digest("hex");
  await writeFile(join(folder, "there.bin"), bytes);
  expect(await skerry("sandbox", "upload", id, "there.bin", "/srv/deep/", "--mode", "0755")).toMatchObject({
    code: 0,
    stdout: "/srv/deep/there.bin 1000003 bytes\n",
  });
  await using file = await open(join(folder, "there.bin"));
  const hashes = "sha256sum; sha256sum </srv/deep/there.bin; exit 7";
  const hashed = await skerryReading(file.fd, "sandbox", "exec", id, "--", "sh", "-c", hashes);
  expect(hashed).toMatchObject({ code: 7, stdout: `${digest}  -\n${digest}  -\n` });
  const listed = await skerry("sandbox", "ls", id, "/srv/deep");
  expect(listed.stdout).toMatch(/^TYPE +MODE .*\nfile +0755 +root +1000003 +\S.* +there\.bin\n$/);
  expect(await skerry("sandbox", "download", id, "/srv/deep/there.bin", "back.bin")).toMatchObject({
    code: 0,
  });
  expect((await readFile(join(folder, "back.bin"))).equals(bytes)).toBe(true);

  const killed = await skerry("sandbox", "exec", id, "--timeout", "1s", "sleep 60");
  expect(killed).toMatchObject({ code: 124, stdout: "" });
  expect(await skerry("sandbox", "destroy", id)).toMatchObject({ code: 0, stdout: `${id} destroyed\n` });
  expect(await getSandbox(platform, id)).toMatchObject({ status: "destroyed" });
});

test("skerry status shows that everything runs, and what the host is", async () => {
  const table = await skerry("status");
  expect(table.code).toBe(0);
  for (const what of ["supervisor", "control", "host"])
    expect(table.stdout).toMatch(new RegExp(`^${what} +running `, "m"));
  expect(table.stdout).toMatch(/^accelerator +(tcg|kvm) /m);
  expect(table.stdout).toMatch(/^template base +ready /m);
  const rows = JSON.parse((await skerry("status", "--json")).stdout) as readonly { readonly what: string }[];
  expect(rows.map(({ what }) => what)).toContain("host");
});

test("skerry doctor finds this machine fit, and says so as a table", async () => {
  const table = await skerry("doctor");
  expect(table.stdout).toMatch(/^CHECK +VERDICT +FOUND +REMEDY\n/);
  for (const check of ["root", "qemu", "kvm", "namespaces", "memory", "disk"]) {
    expect(table.stdout).toMatch(new RegExp(`^${check} +(ok|warning) `, "m"));
  }
  expect(table.stdout).not.toMatch(/ fault /);
  expect(table.code).toBe(0);
});

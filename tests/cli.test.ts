// The built `skerry` command as a user types it, against the platform and with real microVMs.

import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, open, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import type { DirectoryListing } from "@skerry/contract/vms/files";
import type { Sandbox } from "@skerry/contract/sandboxes/sandbox";
import { destroySandbox, getSandbox, outputOf } from "./support/api.ts";
import { sharedPlatform } from "./support/shared.ts";

const platform = await sharedPlatform();
const program = join(import.meta.dirname, "../dist/skerry.js");
let folder: string;
let id: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "skerry-cli-"));
  id = (await skerry("sandbox", "create", "--template", "base", "--timeout", "20m")).stdout.trim();
});

afterAll(async () => {
  await destroySandbox(platform, id);
  await rm(folder, { recursive: true, force: true });
});

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function clientEnv(): NodeJS.ProcessEnv {
  return {
    PATH: process.env["PATH"],
    HOME: folder,
    SKERRY_API_URL: platform.apiUrl,
    SKERRY_API_TOKEN: platform.token,
    // What is said about waiting depends on how fast the machine is.
    SKERRY_QUIET: "1",
    // Where the commands look that concern this machine.
    SKERRY_STATE: platform.state,
    SKERRY_LISTEN: new URL(platform.apiUrl).host,
    SKERRY_HOST_ASSETS: inject("assets"),
  };
}

/** Runs the command to its end; `onOutput` sees all of stdout so far, whenever there is more. */
function skerryWith(onOutput: (stdout: string) => void, ...args: readonly string[]): Promise<Ended> {
  const child = spawn(process.execPath, [program, ...args], {
    cwd: folder,
    env: clientEnv(),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
    onOutput(stdout);
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, stdout, stderr }));
  });
}

function skerry(...args: readonly string[]): Promise<Ended> {
  return skerryWith(() => undefined, ...args);
}

function json<T>({ code, stdout, stderr }: Ended): T {
  expect({ code, stderr }).toMatchObject({ code: 0 });
  return JSON.parse(stdout) as T;
}

describe("skerry sandbox create", () => {
  test("prints the id alone on standard output, and the sandbox is there", async () => {
    expect(id).toMatch(/^sbx_[0-9a-z]{26}$/);
    expect(await getSandbox(platform, id)).toMatchObject({ status: "running", timeout: "20m" });
  });

  test("passes every flag on, and prints the sandbox as JSON where that is asked for", async () => {
    const flags =
      "--template base --timeout 7m --size shared-cpu-1x --name mine --env A=1 --env B=x=y --metadata k=v --json";
    const created = json<Sandbox>(await skerry("sandbox", "create", ...flags.split(" ")));
    expect(created).toMatchObject({
      name: "mine",
      timeout: "7m",
      size: "shared-cpu-1x",
      env: { A: "1", B: "x=y" },
      metadata: { k: "v" },
      status: "running",
    });
    expect(await skerry("sandbox", "destroy", created.id)).toMatchObject({
      code: 0,
      stdout: `${created.id} destroyed\n`,
    });
    expect(await getSandbox(platform, created.id)).toMatchObject({ status: "destroyed" });
  });

  test("passes every egress flag on, and `sandbox egress` shows the rules and replaces them", async () => {
    const flags =
      "--egress-allow-cidr 203.0.113.0/24 --egress-deny-cidr 203.0.113.7 --egress-allow-port 443 --egress-dns --json";
    const created = json<Sandbox>(
      await skerry("sandbox", "create", "--template", "base", ...flags.split(" ")),
    );
    const rules = {
      mode: "deny_all",
      allow_cidrs: ["203.0.113.0/24"],
      deny_cidrs: ["203.0.113.7/32"],
      allow_ports: [443],
      dns: true,
    };
    expect(created.egress).toEqual(rules);
    expect(json(await skerry("sandbox", "egress", created.id, "--json"))).toMatchObject(rules);
    const changed = await skerry("sandbox", "egress", created.id, "--egress-mode", "deny_all");
    expect(changed.stdout).toMatch(/^mode +deny_all\nDNS +no\n/);
    expect((await getSandbox(platform, created.id)).egress).toEqual({
      mode: "deny_all",
      allow_cidrs: [],
      deny_cidrs: [],
      allow_ports: [],
      dns: false,
    });
    await destroySandbox(platform, created.id);
  });

  test("with egress rules that cannot be meant fails with the entry and what to do", async () => {
    const refused = await skerry("sandbox", "create", "--template", "base", "--egress-allow-port", "443");
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain("Port 443 is allowed, but no CIDR or domain is. (egress_conflict)");
    expect(refused.stderr).toContain("0.0.0.0/0");
  });

  test("with an unknown template fails with the code and what to do", async () => {
    const refused = await skerry("sandbox", "create", "--template", "no-such");
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain("unknown_template");
  });
});

test.each([
  [["sandbox", "create", "base", "--template", "other"]],
  [["sandbox", "create", "--template", "base", "--no-such-flag"]],
  [["sandbox", "create", "--template", "base", "--egress-mode", "some"]],
  [["sandbox", "exec"]],
  [["no-such-noun"]],
])("skerry %j is wrong usage: exit code 2, with the fault on standard error", async (args) => {
  const refused = await skerry(...args);
  expect(refused).toMatchObject({ code: 2, stdout: "" });
  expect(refused.stderr).not.toBe("");
});

describe("skerry sandbox exec", () => {
  test("passes both outputs on and exits with the command's own code", async () => {
    const ended = await skerry("sandbox", "exec", id, "echo out; echo err >&2; exit 42");
    expect(ended).toEqual({ code: 42, stdout: "out\n", stderr: "err\n" });
  });

  test("leaves the words behind -- as they are, and takes directory and environment", async () => {
    const words = ["printf", "%s|", "two words", "$HOME", "-x", "it's"];
    expect(await skerry("sandbox", "exec", id, "--", ...words)).toMatchObject({
      code: 0,
      stdout: "two words|$HOME|-x|it's|",
    });
    const there = await skerry(
      "sandbox",
      "exec",
      id,
      "--workdir",
      "/usr",
      "--env",
      "A=b c",
      "--",
      "sh",
      "-c",
      'echo "$PWD $A"',
    );
    expect(there).toMatchObject({ code: 0, stdout: "/usr b c\n" });
  });

  test("shows output while the command still runs", async () => {
    let told: Promise<string> | undefined;
    const ended = await skerryWith(
      (stdout) => {
        if (stdout.includes("first")) told ??= outputOf(platform, id, "touch /tmp/cli-go-on");
      },
      ...["sandbox", "exec", id, "--timeout", "2m"],
      "echo first; while ! test -e /tmp/cli-go-on; do sleep 0.1; done; echo second",
    );
    expect(told).toBeDefined();
    await told;
    expect(ended).toMatchObject({ code: 0, stdout: "first\nsecond\n" });
  });

  test("gives the command what a file holds, and keeps its exit code", async () => {
    const bytes = randomBytes(1_000_000);
    await writeFile(join(folder, "input"), bytes);
    await using file = await open(join(folder, "input"));
    const child = spawn(
      process.execPath,
      [program, "sandbox", "exec", id, "--", "sh", "-c", "sha256sum; exit 7"],
      {
        env: clientEnv(),
        stdio: [file.fd, "pipe", "inherit"],
      },
    );
    const [stdout, [code]] = await Promise.all([
      text(child.stdout ?? Readable.from([])),
      once(child, "close"),
    ]);
    expect([code, stdout]).toEqual([7, `${createHash("sha256").update(bytes).digest("hex")}  -\n`]);
  });

  test("of a sandbox that is not there exits with 125", async () => {
    const ended = await skerry("sandbox", "exec", "sbx_00000000000000000000000000", "true");
    expect(ended).toMatchObject({ code: 125, stdout: "" });
    expect(ended.stderr).toContain("sandbox_not_found");
  });

  test("says that a command was killed at its timeout, and exits with 124", async () => {
    const ended = await skerry("sandbox", "exec", id, "--timeout", "1s", "sleep 60");
    expect(ended).toMatchObject({ code: 124, stdout: "" });
    expect(ended.stderr).toMatch(/timeout/);
  });
});

test("skerry sandbox upload and download carry a binary file there and back", async () => {
  const bytes = randomBytes(1_000_003);
  await writeFile(join(folder, "there.bin"), bytes);
  const uploaded = await skerry("sandbox", "upload", id, "there.bin", "/srv/deep/", "--mode", "0755");
  expect(uploaded).toMatchObject({ code: 0, stdout: "/srv/deep/there.bin 1000003 bytes\n" });
  const digest = createHash("sha256").update(bytes).digest("hex");
  expect(await outputOf(platform, id, "stat -c %a /srv/deep/there.bin; sha256sum </srv/deep/there.bin")).toBe(
    `755\n${digest}  -`,
  );
  expect(await skerry("sandbox", "download", id, "/srv/deep/there.bin", "back.bin")).toMatchObject({
    code: 0,
  });
  expect((await readFile(join(folder, "back.bin"))).equals(bytes)).toBe(true);
  const missing = await skerry("sandbox", "download", id, "/no/such/file", "nothing.bin");
  expect(missing).toMatchObject({ code: 1 });
  expect(missing.stderr).toContain("file_not_found");
  await expect(readFile(join(folder, "nothing.bin"))).rejects.toThrow("ENOENT");
});

test("skerry sandbox ls lists a directory as a table, or as JSON with exact names", async () => {
  await outputOf(platform, id, "mkdir -p /ls/folder && printf 123 >'/ls/a file'");
  const table = await skerry("sandbox", "ls", id, "/ls");
  expect(table.code).toBe(0);
  expect(table.stdout).toMatch(/^TYPE +MODE +OWNER +SIZE +MODIFIED +NAME\n/);
  expect(table.stdout).toMatch(/file +0644 +root +3 +\S.* +a file\n/);
  const { entries } = json<DirectoryListing>(await skerry("sandbox", "ls", id, "/ls", "--json"));
  expect(entries.map(({ name, type }) => `${type} ${name}`).toSorted()).toEqual([
    "directory folder",
    "file a file",
  ]);
});

test("skerry sandbox keepalive pushes the expiry back and prints it", async () => {
  const ended = await skerry("sandbox", "keepalive", id, "--timeout", "2h");
  const { expires_at } = await getSandbox(platform, id);
  expect(ended).toMatchObject({ code: 0, stdout: `${id} expires ${expires_at}\n` });
  expect(Date.parse(expires_at)).toBeGreaterThan(Date.now() + 119 * 60_000);
});

test("skerry sandbox list and get show it, also as JSON", async () => {
  const table = await skerry("sandbox", "list", "--status", "running");
  expect(table.stdout).toMatch(new RegExp(`^ID +NAME +TEMPLATE .*\\n(.*\\n)*${id} `));
  expect(json<Sandbox>(await skerry("sandbox", "get", id, "--json"))).toEqual(await getSandbox(platform, id));
  const listed = json<{ items: Sandbox[] }>(await skerry("sandbox", "list", "--all", "--json"));
  expect(listed.items.map((item) => item.id)).toContain(id);
  expect((await skerry("ps")).stdout).toContain(id);
});

test("skerry status shows that everything runs, and what the host is", async () => {
  const table = await skerry("status");
  expect(table.code).toBe(0);
  for (const what of ["supervisor", "control", "host"])
    expect(table.stdout).toMatch(new RegExp(`^${what} +running `, "m"));
  expect(table.stdout).toMatch(/^accelerator +(tcg|kvm) /m);
  expect(table.stdout).toMatch(/^template base +ready /m);
  expect(
    json<{ what: string; state: string }[]>(await skerry("status", "--json")).map(({ what }) => what),
  ).toContain("host");
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

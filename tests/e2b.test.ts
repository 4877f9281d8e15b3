// E2B's published clients against a whole platform with real microVMs.

import { createHash, randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import * as oldest from "e2b-2.45";
import * as newest from "e2b-2.51";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { e2bOptions } from "./support/e2b-options.ts";
import { until } from "./support/platform.ts";
import { sharedPlatform } from "./support/shared.ts";
import { fullTest } from "./support/full-test.ts";
import { drawn, isFullRun, noteSampled } from "./support/sampling.ts";

const platform = await sharedPlatform();

const options = e2bOptions(platform, 120_000);

const clients = [
  ["2.45.0", oldest],
  ["2.51.0", newest as unknown as typeof oldest],
] as const;

const tried = isFullRun ? clients : clients.filter((_, at) => at === drawn("E2B's clients", clients.length));
noteSampled({ title: "E2B's clients", taken: tried.length, all: clients.length });

/** More than a native upload may have. */
const LARGE_BYTES = isFullRun ? 150_000_000 : 101_000_000;

describe.each(tried)("the client %s", (_version, { Sandbox, CommandExitError, TimeoutError }) => {
  let sandbox: oldest.Sandbox;
  beforeAll(async () => {
    const envs = { GREETING: "hello" };
    sandbox = await Sandbox.create("base", { ...options, envs, timeoutMs: 1_800_000 });
  });
  afterAll(() => sandbox.kill());

  test("runs commands as the user of the template, in its home, who may become root", async () => {
    const { stdout } = await sandbox.commands.run('whoami; pwd; echo "$HOME $GREETING"; sudo -n id -u');
    expect(stdout).toBe("user\n/home/user\n/home/user hello\n0\n");
    const where = await sandbox.commands.run(
      "cd /run/e2b; cat .E2B_SANDBOX; echo; cat .E2B_SANDBOX_ID; env | grep E2B_SANDBOX_ID",
    );
    expect(where.stdout).toBe(`true\n${sandbox.sandboxId}E2B_SANDBOX_ID=${sandbox.sandboxId}\n`);
    const root = await sandbox.commands.run("whoami; pwd", { user: "root", cwd: "/tmp" });
    expect(root.stdout).toBe("root\n/tmp\n");
    const failed = await sandbox.commands.run("echo why >&2; exit 7").catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(CommandExitError);
    expect(failed).toMatchObject({ exitCode: 7, stderr: "why\n" });
    const quotes = `it's "quoted" \\ $HOME`;
    expect((await sandbox.commands.run(`printf %s '${quotes.replaceAll("'", `'\\''`)}'`)).stdout).toBe(
      quotes,
    );
  });

  test("talks to commands that run on, by the numbers that their processes have", async () => {
    const handle = await sandbox.commands.run("echo $$; cat", { background: true, stdin: true });
    await until("the number was printed", async () => handle.stdout !== "");
    expect(Number(handle.stdout)).toBe(handle.pid);
    expect((await sandbox.commands.list()).map(({ pid }) => pid)).toContain(handle.pid);
    await sandbox.commands.sendStdin(handle.pid, "one\n");
    await sandbox.commands.closeStdin(handle.pid);
    expect((await handle.wait()).stdout).toBe(`${handle.pid}\none\n`);
    const sleeping = await sandbox.commands.run("sleep 1000", { background: true });
    expect(await sleeping.kill()).toBe(true);
    await expect(sleeping.wait()).rejects.toThrow(CommandExitError);
    expect(await sandbox.commands.kill(sleeping.pid)).toBe(false);
    await expect(sandbox.commands.run("sleep 1000", { timeoutMs: 2_000 })).rejects.toThrow(TimeoutError);
  });

  test("types at a terminal", async () => {
    let heard = "";
    const text = new TextDecoder();
    const terminal = await sandbox.pty.create({
      ...{ cols: 90, rows: 30 },
      onData: (bytes) => void (heard += text.decode(bytes)),
    });
    await sandbox.pty.sendInput(terminal.pid, new TextEncoder().encode("stty size; exit 3\n"));
    await terminal.wait().catch(() => undefined);
    expect([heard.includes("30 90"), terminal.exitCode]).toEqual([true, 3]);
  });

  test("signs URLs of files, and puts files together", async () => {
    const url = await sandbox.uploadUrl("signed.txt", { useSignatureExpiration: 60 });
    const form = new FormData();
    form.append("file", "one ");
    expect((await fetch(url, { method: "POST", body: form })).status).toBe(200);
    await sandbox.files.write("second part.txt", "two");
    const composed = await fetch(`${options.sandboxUrl}/files/compose`, {
      method: "POST",
      headers: { "x-api-key": options.apiKey, "e2b-sandbox-id": sandbox.sandboxId },
      body: JSON.stringify({ source_paths: ["signed.txt", "second part.txt"], destination: "a/whole.txt" }),
    });
    expect(await composed.json()).toEqual({
      path: "/home/user/a/whole.txt",
      name: "whole.txt",
      type: "file",
    });
    const whole = await fetch(await sandbox.downloadUrl("a/whole.txt"));
    expect([whole.status, await whole.text()]).toEqual([200, "one two"]);
    expect(await sandbox.files.exists("signed.txt")).toBe(false);
    expect((await sandbox.files.getInfo("a/whole.txt")).owner).toBe("user");
    await sandbox.files.remove("a");
  });

  test("keeps metadata beside files, where programs in the sandbox find it too", async () => {
    const { files } = sandbox;
    const metadata = { author: "Ada", "e2b.x": "a b" };
    expect((await files.write("noted.txt", "x", { metadata })).metadata).toEqual(metadata);
    const read = `python3 -c 'import os; print(os.getxattr("noted.txt", "user.e2b.author").decode())'`;
    expect((await sandbox.commands.run(read)).stdout).toBe("Ada\n");
    const set = `python3 -c 'import os; os.setxattr("noted.txt", "user.e2b.by", b"program"); os.setxattr("noted.txt", "user.x", b"y")'`;
    await sandbox.commands.run(set);
    const all = { ...metadata, by: "program" };
    expect((await files.getInfo("noted.txt")).metadata).toEqual(all);
    expect((await files.rename("noted.txt", "notes/moved.txt")).metadata).toEqual(all);
    expect((await files.list("notes")).map((entry) => entry.metadata)).toEqual([all]);
    const told: unknown[] = [];
    const watch = await files.watchDir(
      "notes",
      ({ type, entry }) => void told.push([type, entry?.metadata]),
      {
        ...{ includeEntry: true, recursive: true, allowNetworkMounts: true },
      },
    );
    await files.write("notes/second.txt", "x", { metadata: { n: "2" } });
    await until("the file was told with its metadata", async () =>
      told.some((event) => isDeepStrictEqual(event, ["create", { n: "2" }])),
    );
    await watch.stop();
    await files.write("notes/moved.txt", "again");
    expect((await files.getInfo("notes/moved.txt")).metadata).toBeUndefined();
    await files.remove("notes");
  });

  test("writes, reads, lists and watches files, byte for byte", async () => {
    const { files } = sandbox;
    const bytes = randomBytes(LARGE_BYTES);
    const digest = createHash("sha256").update(bytes).digest("hex");
    await files.write("large.bin", new Blob([bytes]));
    expect((await sandbox.commands.run("sha256sum large.bin")).stdout).toBe(`${digest}  large.bin\n`);
    const read = await files.read("/home/user/large.bin", { format: "bytes" });
    expect(createHash("sha256").update(read).digest("hex")).toBe(digest);
    await files.remove("large.bin");
    const heard: string[] = [];
    expect(await files.makeDir("work/below")).toBe(true);
    const watch = await files.watchDir("work", ({ type, name }) => void heard.push(`${type} ${name}`));
    await files.write("work/a.txt", "from outside");
    await until("the file was told", async () => heard.some((line) => line.endsWith("a.txt")));
    await watch.stop();
    expect((await files.list("work")).map(({ name, type, owner }) => [name, type, owner])).toEqual([
      ["a.txt", "file", "user"],
      ["below", "dir", "user"],
    ]);
    await sandbox.commands.run("ln -s a.txt work/link && echo more >> work/a.txt");
    const link = await files.getInfo("work/link");
    expect([link.type, link.symlinkTarget]).toEqual(["file", "/home/user/work/a.txt"]);
    expect(await files.read("work/link")).toBe("from outsidemore\n");
  });
});

fullTest("uploads are watched as created and written, and one that replaces a file as written", async () => {
  const sandbox = await newest.Sandbox.create("base", { ...options, timeoutMs: 600_000 });
  const { files } = sandbox;
  try {
    await files.makeDir("watched");
    const told: string[] = [];
    const watch = await files.watchDir("watched", ({ type, name }) => void told.push(`${type} ${name}`), {
      recursive: true,
    });
    await files.makeDir("watched/below");
    await until("the folder was told", async () => told.includes("create below"));
    for (const content of ["first", "second"]) {
      const before = told.length;
      await files.write("watched/below/file", content);
      await until("the content was told", async () => told.slice(before).includes("write below/file"));
    }
    await watch.stop();
    expect(told.filter((line) => line === "create below/file")).toEqual(["create below/file"]);
    expect(told.filter((line) => !/ below(?:\/file)?$/.test(line))).toEqual([]);
  } finally {
    await sandbox.kill();
  }
});

fullTest("a command whose sandbox is killed ends with an error that says so", async () => {
  const sandbox = await newest.Sandbox.create("base", { ...options, timeoutMs: 600_000 });
  await sandbox.commands.run("mkdir -m 700 /tmp/closed", { user: "root" });
  await expect(sandbox.commands.run("pwd", { cwd: "/tmp/closed" })).rejects.toThrow("does not permit");
  const handle = await sandbox.commands.run("sleep 1000", { background: true });
  expect(await sandbox.kill()).toBe(true);
  await expect(handle.wait()).rejects.toThrow("sandbox was killed or reached its end of life");
});

test("a sandbox that is paused without its memory boots from its disk, with all that was written there", async () => {
  const { Sandbox } = newest;
  const envs = { GREETING: "hello" };
  const sandbox = await Sandbox.create("base", { ...options, envs, timeoutMs: 600_000 });
  const boot = async () => (await sandbox.files.read("/proc/sys/kernel/random/boot_id")).trim();
  const first = await boot();
  expect(first).toMatch(/^[0-9a-f-]{36}$/);
  const [metric] = await sandbox.getMetrics();
  expect(metric).toMatchObject({ cpuCount: 1, memTotal: 256 * 1024 ** 2 });
  expect([metric?.memUsed ?? 0, metric?.diskUsed ?? 0].every((bytes) => bytes > 1_000_000)).toBe(true);
  await sandbox.files.write("kept.txt", "kept");
  await sandbox.commands.run("sleep 1000", { background: true });
  expect(await sandbox.pause({ keepMemory: false })).toBe(true);
  expect(await sandbox.isRunning()).toBe(false);
  await sandbox.connect();
  const second = await boot();
  expect([second === first, await sandbox.files.read("kept.txt")]).toEqual([false, "kept"]);
  expect((await sandbox.commands.run('whoami; pwd; echo "$GREETING"')).stdout).toBe(
    "user\n/home/user\nhello\n",
  );
  expect(await sandbox.commands.list()).toEqual([]);
  // With its memory, it goes on; and a snapshot of it is whole.
  await sandbox.pause();
  await sandbox.connect();
  expect(await boot()).toBe(second);
  const [fork] = await sandbox.fork();
  if (!(fork instanceof Sandbox)) throw new Error("the sandbox was not forked");
  expect(await fork.files.read("kept.txt")).toBe("kept");
  await Promise.all([fork.kill(), sandbox.kill()]);
});

test("a template is built of files and commands, and its sandboxes wake with what it started", async () => {
  const { Sandbox, Template, waitForPort } = newest;
  const folder = await mkdtemp(join(tmpdir(), "skerry-e2b-"));
  try {
    await mkdir(join(folder, "site/below"), { recursive: true });
    await writeFile(join(folder, "site/index.html"), "from the template");
    await writeFile(join(folder, "site/below/ü x.txt"), "deep");
    const template = Template({ fileContextPath: folder })
      .fromBaseImage()
      .setEnvs({ GREETING: "hello" })
      .setWorkdir("/srv/site")
      .copy("site", "/srv/site")
      .copy("site/index.html", "copy.html", { mode: 0o600, user: "root" })
      .runCmd('whoami > who; echo "$GREETING" >> who; pwd >> who')
      .runCmd("whoami > /root/who", { user: "root" })
      .setStartCmd("python3 -m http.server 8000", waitForPort(8000));
    const lines: string[] = [];
    const onBuildLogs = ({ message }: { message: string }) => void lines.push(message);
    await Template.build(template, "e2b-site:v1", { ...options, onBuildLogs });
    expect(await Template.exists("e2b-site", options)).toBe(true);
    const sandbox = await Sandbox.create("e2b-site:v1", { ...options, timeoutMs: 600_000 });
    const run = async (command: string) => (await sandbox.commands.run(command, { cwd: "/srv/site" })).stdout;
    expect(await run("cat who below/*; sudo cat /root/who")).toBe("user\nhello\n/srv/site\ndeeproot\n");
    expect(await run("stat -c '%U %a %n' index.html copy.html")).toBe(
      "user 644 index.html\nroot 600 copy.html\n",
    );
    const ask =
      "import urllib.request; print(urllib.request.urlopen('http://127.0.0.1:8000/').read().decode())";
    expect(await run(`python3 -c "${ask}"`)).toBe("from the template\n");
    await sandbox.kill();
    const broken = Template().fromBaseImage().runCmd("true").runCmd("echo why >&2; exit 3");
    await expect(Template.build(broken, "e2b-broken", options)).rejects.toThrow("why");
  } finally {
    await rm(folder, { recursive: true });
  }
});

// `skerry cp` between this machine and real guests, honest and hostile.

import { execFile } from "node:child_process";
import { createReadStream } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createSandbox, destroySandbox, outputOf } from "./support/api.ts";
import { sharedPlatform } from "./support/shared.ts";

const run = promisify(execFile);
const platform = await sharedPlatform();
const program = join(import.meta.dirname, "../dist/skerry.js");
let folder: string;
let id: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "skerry-cp-"));
  id = (await skerry("sandbox", "create", "--name", "copies", "--timeout", "20m")).stdout.trim();
  await mkdir(join(folder, "src/deep"), { recursive: true });
  await writeFile(join(folder, "src/run.sh"), "#!/bin/sh\necho ran\n", { mode: 0o755 });
  await writeFile(join(folder, "src/deep/ä 日本.txt"), "text");
  await writeFile(join(folder, "src/deep/big"), Buffer.alloc(20_000_000, "big"));
  await symlink("deep/big", join(folder, "src/link"));
});

afterAll(async () => {
  await destroySandbox(platform, id);
  await rm(folder, { recursive: true, force: true });
});

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function skerry(...args: readonly string[]): Promise<Ended> {
  const env = {
    PATH: process.env["PATH"],
    HOME: folder,
    SKERRY_API_URL: platform.apiUrl,
    SKERRY_API_TOKEN: platform.token,
    // What is said about waiting depends on how fast the machine is.
    SKERRY_QUIET: "1",
  };
  return run(process.execPath, [program, ...args], { cwd: folder, env }).then(
    (done) => ({ ...done, code: 0 }),
    (error: Ended) => error,
  );
}

test("a directory goes in and comes back as it was, with links and permissions, and nothing is left of the way", async () => {
  const there = await skerry("cp", "src", "copies:/root");
  expect(there).toMatchObject({ code: 0, stdout: "", stderr: "Copied 3 files into /root/src, 19.1 MiB.\n" });
  expect(
    await outputOf(
      platform,
      id,
      "cd /root/src && ./run.sh && readlink link && stat -c '%a %U' run.sh && ls -A /var/tmp",
    ),
  ).toBe("ran\ndeep/big\n755 root");
  expect(await skerry("cp", "-r", "copies:/root/src", "back")).toMatchObject({ code: 0 });
  expect(
    (await run("diff", ["-r", "--no-dereference", join(folder, "src"), join(folder, "back")])).stdout,
  ).toBe("");
  expect((await stat(join(folder, "back/run.sh"))).mode & 0o777).toBe(0o755);
});

test("a file, a new name, what is in a directory, and what a link leads to", async () => {
  expect(await skerry("cp", "src/run.sh", `${id}:/srv/other`)).toMatchObject({ code: 0 });
  expect(await skerry("cp", "src/.", "copies:/srv")).toMatchObject({ code: 0 });
  expect(await skerry("cp", "-L", "src/link", "copies:srv/followed")).toMatchObject({ code: 0 });
  expect(await outputOf(platform, id, "cd /srv && ls -A && stat -c '%F %s' link followed")).toBe(
    "deep\nfollowed\nlink\nother\nrun.sh\nsymbolic link 8\nregular file 20000000",
  );
  await mkdir(join(folder, "into"));
  expect(await skerry("cp", "copies:/srv/other", "into")).toMatchObject({ code: 0 });
  expect(await skerry("cp", "copies:/srv/link", "into/as-link")).toMatchObject({ code: 0 });
  expect(await skerry("cp", "-L", "copies:/srv/followed", "into/other")).toMatchObject({ code: 0 });
  expect(await readlink(join(folder, "into/as-link"))).toBe("deep/big");
  expect((await stat(join(folder, "into/other"))).size).toBe(20_000_000);
});

test("an archive comes from standard input, and goes to standard output", async () => {
  await run("tar", ["-c", "-f", join(folder, "in.tar"), "-C", join(folder, "src"), "run.sh"]);
  const child = execFile(process.execPath, [program, "cp", "-", "copies:/opt"], {
    env: { HOME: folder, SKERRY_API_URL: platform.apiUrl, SKERRY_API_TOKEN: platform.token },
  });
  const code = new Promise((resolve) => child.once("close", resolve));
  if (child.stdin !== null) createReadStream(join(folder, "in.tar")).pipe(child.stdin);
  expect(await code).toBe(0);
  const { stdout } = await skerry("cp", "copies:/opt/run.sh", "-");
  expect(stdout).toContain("echo ran");
});

test("what cannot be copied says which path, and why", async () => {
  const cases: readonly (readonly [args: readonly string[], code: number, words: RegExp])[] = [
    [["src", "copies:/no/such/place"], 1, /There is no directory \/no\/such .*\(no_such_directory\)/],
    [["nothing", "copies:/root"], 1, /There is no file or directory nothing on this machine/],
    [["copies:/nothing", "."], 1, /There is no file or directory \/nothing in the VM/],
    [["src", "copies:/etc/passwd"], 1, /cannot take the place of the file/],
    [["src", "back"], 2, /One of "src" and "back" must be in a VM/],
    [["nobody:/x", "."], 1, /There is no sandbox and no machine "nobody"/],
    [["copies:/root/src", "small", "--max-size", "1M"], 1, /\(too_large\)/],
  ];
  for (const [args, code, words] of cases) {
    const ended = await skerry("cp", ...args);
    expect([args, ended.code, ended.stderr]).toEqual([args, code, expect.stringMatching(words)]);
  }
});

test("a guest whose tar lies can write nothing outside, and its names cannot take over the terminal", async () => {
  const evil = await createSandbox(platform);
  onTestFinished(() => destroySandbox(platform, evil.id));
  const make = `cd /tmp && mkdir -p e && ln -s ../.. e/up && echo gotcha >plain &&
    /usr/bin/tar -cf evil.tar e/up && /usr/bin/tar -rf evil.tar --transform 's,plain,e/up/pwned,' plain &&
    /usr/bin/tar -cPf up.tar --transform 's,plain,../pwned,' plain && cp /usr/bin/tar real-tar && mkdir -p /root/e`;
  await outputOf(platform, evil.id, make);
  await mkdir(join(folder, "deep/target"), { recursive: true });
  for (const archive of ["evil.tar", "up.tar"]) {
    await outputOf(
      platform,
      evil.id,
      `rm -f /usr/bin/tar; printf '#!/bin/sh\\ncat /tmp/${archive}\\n' >/usr/bin/tar && chmod 755 /usr/bin/tar`,
    );
    const ended = await skerry("cp", `${evil.id}:/root/e`, "deep/target");
    expect([archive, ended.code]).toEqual([archive, 1]);
  }
  expect((await readdir(folder)).includes("pwned")).toBe(false);
  expect((await readdir(join(folder, "deep"))).toSorted()).toEqual(["target"]);
  await outputOf(
    platform,
    evil.id,
    `mkfifo "$(printf '/root/e/\\033[2Jpipe')"; cp /tmp/real-tar /usr/bin/tar`,
  );
  const shown = await skerry("cp", `${evil.id}:/root/e`, "pipes");
  expect(shown).toMatchObject({
    code: 0,
    stderr: "Left out: ./e/\\x1b[2Jpipe (pipe)\nCopied 0 files, 0 bytes.\n",
  });
  expect(await readFile(join(folder, "src/run.sh"), "utf8")).toContain("ran");
});

test("skerry run copies in, runs, copies out, and leaves nothing", async () => {
  const script = "cd src && ./run.sh > ../said && ls -l run.sh; cat ../said; exit 9";
  const out = join(folder, "out");
  await mkdir(out);
  const ran = await skerry(
    ...["run", "-n", "--name", "ran-once", "--copy-in", join(folder, "src"), "--copy-out", `said:${out}`],
    ...["--copy-out", "/root/none", "--", "sh", "-c", script],
  );
  expect(ran).toMatchObject({ code: 9 });
  expect(ran.stdout).toMatch(/^-rwxr-xr-x .*run\.sh\nran\n$/);
  expect(ran.stderr).toContain("/root/none");
  expect(await readFile(join(out, "said"), "utf8")).toBe("ran\n");
  const left = await skerry("sandbox", "get", "ran-once", "--json");
  expect(left.code).toBe(1);
  expect(left.stderr).toContain("sandbox_not_found");
});

test("a run that has failed is shown with its end while its sandbox stays, and one that runs is followed to its own", async () => {
  const failed = await skerry("run", "-n", "--keep-on-failure", "--", "echo said; exit 3");
  const [, execution = ""] = /skerry runs logs (exe_\w+)/.exec(failed.stderr) ?? [];
  const [, kept = ""] = /The sandbox (sbx_\w+) stays/.exec(failed.stderr) ?? [];
  const shown = await skerry("runs", "show", execution, "--json");
  expect(JSON.parse(shown.stdout)).toMatchObject({
    ...{ id: execution, sandbox_id: kept, status: "exited", exit: { exit_code: 3 }, stdout: "said\n" },
    ended_at: expect.any(String) as string,
  });
  expect(JSON.parse((await skerry("sandbox", "get", kept, "--json")).stdout)).toMatchObject({
    status: "running",
  });
  await destroySandbox(platform, kept);
  const detached = (
    await skerry("run", "--detach", "--", "echo one; sleep 2; echo two; exit 4")
  ).stdout.trim();
  expect(await skerry("runs", "logs", "--follow", detached)).toMatchObject({ code: 4, stdout: "one\ntwo\n" });
});

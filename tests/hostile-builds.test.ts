// Builds whose author turns against what builds them: each ends with an error that says how, leaves nothing on its host, and the next one works.

import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, expect, inject, test } from "vitest";
import type { Build } from "@skerry/contract/builds/build";
import { isFullRun } from "./support/sampling.ts";
import { eagerServices, inventory, nothingWaits, startPlatform, until } from "./support/platform.ts";

const platform = await startPlatform({
  assets: inject("assets"),
  env: { ...eagerServices, ...nothingWaits },
});
afterAll(() => platform.stop());

const run = promisify(execFile);
const TIMEOUT_MS = 600_000;
const alone = { name: "hostile", size: "shared-cpu-1x", egress: { mode: "deny_all" } } as const;

afterEach(async () => {
  await until("nothing of the build is left", async () => (await inventory(platform)).processes === 0);
  expect(await inventory(platform)).toMatchObject({ namespaces: 0, overlays: 0 });
});

interface Ended {
  readonly build: Build;
  readonly lines: readonly string[];
}

async function build(
  request: Partial<Parameters<typeof platform.client.templates.build>[0]>,
  context?: Uint8Array<ArrayBuffer>,
): Promise<Ended> {
  const lines: string[] = [];
  const ended = await platform.client.templates.build(
    { ...alone, ...request },
    { ...(context !== undefined && { context }), onLine: ({ text }) => void lines.push(text) },
  );
  return { build: ended, lines };
}

/** Beyond the inodes of the disk. One program: a `touch` for every file would take a quarter of an hour where the guest's CPU is emulated. */
const MILLION_FILES = `python3 -c '
import os
for folder in range(1000):
    os.mkdir(f"/many{folder}")
    for file in range(1000):
        os.mknod(f"/many{folder}/{file}")'`;

type Attack = [what: string, run: string, code: string, stepTimeout?: string];
/** It takes minutes. */
const slowAttacks: readonly Attack[] = [["makes a million files", MILLION_FILES, "disk_full"]];
const attacks: readonly Attack[] = [
  ["forks without end", "b() { b | b & b; }; b & sleep 600", "step_timed_out", "20s"],
  ["prints without end", "exec yes", "step_timed_out", "20s"],
  ["fills its disk", "fallocate -l 3G /large; cat /dev/zero >/fill", "disk_full"],
  ...(isFullRun ? slowAttacks : []),
  ["fills its memory", "exec tail /dev/zero", "build_out_of_memory"],
];

test.each(attacks)(
  "a build that %s ends with its error",
  async (_, run, code, stepTimeout) => {
    const { build: ended, lines } = await build({
      steps: [{ run }],
      ...(stepTimeout !== undefined && { step_timeout: stepTimeout }),
    });
    expect(ended, lines.slice(-20).join("\n")).toMatchObject({ status: "failed", error: { code, step: 0 } });
  },
  TIMEOUT_MS,
);

// A hundred thousand: beyond the inodes of the disk it would not be a template.
test(
  "a build that makes very many files, and files of every kind, is a template like any other",
  async () => {
    const many = "mkdir /many && cd /many && seq 100000 | xargs touch";
    const kinds =
      "mknod /disk b 254 0 && mknod /null2 c 1 3 && cp /bin/id /owner && chmod 4755 /owner && ln -s ../../../etc /up";
    const { build: ended, lines } = await build({
      steps: [
        { run: many },
        { run: kinds },
        { run: "find /many -type f | wc -l; ls -l /owner | cut -c1-10; exit 3" },
      ],
    });
    expect(ended).toMatchObject({
      status: "failed",
      error: { code: "build_step_failed", step: 2, exit_code: 3 },
    });
    expect(lines).toEqual(expect.arrayContaining(["100000", "-rwsr-xr-x"]));
  },
  TIMEOUT_MS,
);

/** In the place of the disk that the host's VMs are on: memory, of which only what is written is taken. */
async function onSmallDisk(gib: number, work: () => Promise<void>): Promise<void> {
  const folder = join(platform.state, "host/vms");
  await run("mount", ["-t", "tmpfs", "-o", `size=${gib}g,mode=711`, "skerry-test", folder]);
  try {
    await work();
  } finally {
    await run("umount", ["--lazy", folder]);
  }
}

test(
  "a build that fills the disk of its host ends, says why, and what else runs there goes on",
  async () => {
    await onSmallDisk(5, async () => {
      await using sandbox = await platform.client.sandboxes.create({ template: "base" });
      const steps = [{ run: "cat /dev/zero >/fill" }];
      const { build: ended, lines } = await build({ steps });
      expect(ended, lines.join("\n")).toMatchObject({
        status: "failed",
        error: { code: "no_capacity", message: expect.stringContaining("builds give way first") },
      });
      expect((await sandbox.execute("echo it goes on")).stdout).toBe("it goes on\n");
    });
  },
  TIMEOUT_MS,
);

/** An archive by this program of Python, which has the open `archive` and `add(name, **fields)`. */
async function archiveOf(program: string): Promise<Uint8Array<ArrayBuffer>> {
  const folder = await mkdtemp(join(tmpdir(), "skerry-test-context-"));
  try {
    const whole = `
import io, sys, tarfile
archive = tarfile.open(fileobj=sys.stdout.buffer, mode="w|")
def add(name, kind=tarfile.REGTYPE, text=b"", **fields):
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, len(text)
    for field, value in fields.items():
        setattr(info, field, value)
    archive.addfile(info, io.BytesIO(text))
${program}
archive.close()
`;
    await writeFile(join(folder, "make.py"), whole);
    const { stdout } = await run("python3", [join(folder, "make.py")], {
      encoding: "buffer",
    });
    return new Uint8Array(stdout);
  } finally {
    await rm(folder, { recursive: true });
  }
}

const archives: readonly [what: string, program: string][] = [
  ["a name that leads up", 'add("../../etc/passwd", text=b"x")'],
  [
    "a file behind a link out of it",
    'add("out", tarfile.SYMTYPE, linkname="/etc")\nadd("out/passwd", text=b"x")',
  ],
  ["a hard link to a file out of it", 'add("shadow", tarfile.LNKTYPE, linkname="/etc/shadow")'],
];

test.each(archives)(
  "a context with %s is refused",
  async (_, program) => {
    const steps = [{ copy: { from: ".", to: "/app" } }];
    const { id } = await platform.client.templates.beginBuild({ ...alone, context: true, steps });
    const sent = platform.client.builds.sendContext(id, await archiveOf(program));
    await expect(sent).rejects.toMatchObject({ code: "archive_refused" });
    expect(await platform.client.builds.cancel(id)).toMatchObject({ status: "canceled" });
  },
  TIMEOUT_MS,
);

test(
  "devices and links of a context stay within the template, and a copy through a link that leads out is refused",
  async () => {
    const program = `
add("disk", tarfile.BLKTYPE, devmajor=254, devminor=0)
add("root", mode=0o4755, text=b"#!/bin/sh\\n")
add("up", tarfile.SYMTYPE, linkname="../../../../etc/shadow")`;
    const { build: ended, lines } = await build(
      {
        context: true,
        steps: [
          { copy: { from: ".", to: "/app" } },
          { run: "cd /app; ls -l root disk | cut -c1-10; readlink up" },
          { copy: { from: "up", to: "/stolen" } },
        ],
      },
      await archiveOf(program),
    );
    expect(lines).toEqual(expect.arrayContaining(["brw-r--r--", "-rwsr-xr-x", "../../../../etc/shadow"]));
    expect(ended).toMatchObject({ status: "failed", error: { code: "build_step_failed", step: 2 } });
    expect(ended.error?.message).toMatch(/leads out of the context/);
  },
  TIMEOUT_MS,
);

/** Prints the address of a guest, and that of its gateway. */
const ADDRESSES = `
import socket, struct
probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
probe.connect(("192.0.2.1", 9))
print(probe.getsockname()[0])
routes = [line.split() for line in open("/proc/net/route")]
print([socket.inet_ntoa(struct.pack("<L", int(fields[2], 16))) for fields in routes if fields[1] == "00000000"][0])
`;

test(
  "a build reaches neither a neighbour, nor the host, nor the metadata address, and no neighbour reaches what it listens with",
  async () => {
    const neighbour = await platform.client.sandboxes.create({ template: "base", timeout: "10m" });
    const [own = "", gateway = ""] = (await neighbour.execute(`python3 -c '${ADDRESSES}'`)).stdout.split(
      "\n",
    );
    expect(gateway).toMatch(/^\d+(\.\d+){3}$/);
    await neighbour.execute("nohup python3 -m http.server 8000 >/dev/null 2>&1 & sleep 2");
    const targets = [
      "169.254.169.254 80",
      `${own} 8000`,
      `${gateway} 22`,
      `${gateway} 8000`,
      `${gateway} 7070`,
    ];
    const tries = targets.map(
      (target) =>
        `timeout 3 bash -c 'exec 3<>/dev/tcp/${target.replace(" ", "/")}' 2>/dev/null && echo REACHED ${target}`,
    );
    const listen = "python3 -m http.server 9000 >/dev/null 2>&1 & sleep 2; echo listening; sleep 20; exit 3";
    const { id } = await platform.client.templates.beginBuild({
      ...alone,
      egress: { mode: "allow_all" },
      steps: [{ run: `${tries.join("\n")}\ntrue` }, { run: listen }],
    });
    const logOf = async () => (await platform.client.builds.log(id)).lines.map(({ text }) => text);
    await until("it listens", async () => (await logOf()).includes("listening"), 300_000);
    const knocks = [own, gateway].map(
      (host) => `timeout 3 bash -c 'exec 3<>/dev/tcp/${host}/9000' 2>/dev/null && echo REACHED ${host}`,
    );
    expect((await neighbour.execute(knocks.join("\n"))).stdout).toBe("");
    await until(
      "it has ended",
      async () => (await platform.client.builds.get(id)).finished_at !== null,
      120_000,
    );
    expect((await logOf()).filter((line) => line.startsWith("REACHED"))).toEqual([]);
    expect((await platform.client.builds.get(id)).error).toMatchObject({ step: 1, exit_code: 3 });
    await neighbour.destroy();
  },
  TIMEOUT_MS,
);

test(
  "after all of them a build works, and so does its template",
  async () => {
    const { build: ended, lines } = await build({ steps: [{ run: "echo built >/made" }] });
    expect(ended, lines.join("\n")).toMatchObject({ status: "ready", error: null });
    await using sandbox = await platform.client.sandboxes.create({ template: "hostile", timeout: "10m" });
    expect(await sandbox.execute("cat /made")).toMatchObject({ exit_code: 0, stdout: "built\n" });
  },
  TIMEOUT_MS,
);

import { mkdir, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { Shell } from "./support/shell.ts";
import { startLocalGuest } from "./support/local-guest.ts";

async function plant(folder: string, ...paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), path);
  }
}

async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .toSorted();
}

test.each([
  ["without .dockerignore", undefined, [], ["a.txt", "deep/b.log"]],
  ["with .dockerignore", "**/*.log\n.git\n", [], [".dockerignore", "a.txt", "node_modules/m/index.js"]],
  [
    "with --copy-in-all",
    "**/*.log\n",
    ["--copy-in-all"],
    [".dockerignore", ".git/HEAD", "a.txt", "deep/b.log", "node_modules/m/index.js"],
  ],
])("run copies a folder %s as builds do, also under its own name", async (_, ignore, flags, expected) => {
  const { server } = await startLocalGuest();
  await using _server = server;
  await using shell = await Shell.forServer(server);
  const source = join(shell.folder, "job");
  await plant(source, "a.txt", "deep/b.log", ".git/HEAD", "node_modules/m/index.js");
  if (ignore !== undefined) await writeFile(join(source, ".dockerignore"), ignore);
  const guest = join(shell.folder, "guest");
  for (const [from, into] of [
    ["job/.", guest],
    ["job", join(guest, "job")],
  ] as const) {
    await mkdir(guest, { recursive: true });
    const target = `${guest}/`;
    const answer = await shell.run(
      "run",
      "--template",
      "base",
      "--copy-in",
      `${from}:${target}`,
      ...flags,
      "-n",
      "--",
      "true",
    );
    expect(answer.code).toBe(0);
    expect(answer.stderr).toContain(`Copied ${expected.length} files into ${into}`);
    expect(answer.stderr.includes("--copy-in-all takes all")).toBe(flags.length === 0);
    expect((await filesIn(into)).filter((path) => !path.startsWith("job/"))).toEqual(expected);
  }
});

test("files that may hold secrets are named where a folder that has them is copied in, and are not where they are named", async () => {
  const { server } = await startLocalGuest();
  await using _server = server;
  await using shell = await Shell.forServer(server);
  await plant(join(shell.folder, "job"), "a.txt", ".env", "deep/.env.local", ".env.example");
  const guest = join(shell.folder, "guest");
  await mkdir(guest);
  const copied = async (from: string) =>
    (await shell.run("run", "--template", "base", "--copy-in", `${from}:${guest}/`, "-n", "--", "true"))
      .stderr;
  expect(await copied("job")).toMatch(
    /^With it went job\/\.env, job\/deep\/\.env\.local, which may hold secrets;/m,
  );
  expect(await copied("job/.env")).not.toContain("secrets");
});

test("a run takes docker's --rm, which it does anyway", async () => {
  const { server } = await startLocalGuest();
  await using _server = server;
  await using shell = await Shell.forServer(server);
  const { code, stdout, stderr } = await shell.run(
    "run",
    "--rm",
    "--template",
    "base",
    "-n",
    "--",
    "echo",
    "hi",
  );
  expect([code, stdout.toString(), stderr]).toEqual([0, "hi\n", ""]);
});

// A repository of the world, from its URL to a sandbox that answers, through the API: cloned in the build's microVM, detected there, built on the
// template that it stands on, and frozen with its app running.

import { execFileSync } from "node:child_process";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { Build, BuildRequest } from "../packages/sdk/src/skerry.ts";
import { eagerServices, nothingWaits, startPlatform, type Platform } from "./support/platform.ts";
import { World } from "./support/world.ts";

const TIMEOUT_MS = 900_000;
const REPOSITORY = "git://203.0.113.30/shop.git";
const alone = { name: "shop", size: "shared-cpu-1x" } as const;

const undo = new AsyncDisposableStack();
let folder: string;
let platform: Platform;
let commit: string;

/** None of the machine's own settings count. */
function git(...args: readonly string[]): string {
  const env = { PATH: process.env["PATH"], HOME: folder, GIT_CONFIG_NOSYSTEM: "1" };
  return execFileSync("git", args, { cwd: folder, env, encoding: "utf8" }).trim();
}

/** A commit of a page in `web`, and on it one whose page says something else. */
async function makeRepository(): Promise<void> {
  const inSource = (...args: readonly string[]) =>
    git("-C", "source", "-c", "user.name=test", "-c", "user.email=test@example.com", ...args);
  git("init", "--quiet", "--initial-branch", "main", "source");
  await mkdir(join(folder, "source/web"));
  for (const says of ["first", "second"]) {
    await writeFile(join(folder, "source/web/index.html"), `<h1>the ${says} page</h1>\n`);
    inSource("add", ".");
    inSource("commit", "--quiet", "--message", says);
    inSource("tag", says);
  }
  commit = inSource("rev-parse", "first");
  git("clone", "--quiet", "--bare", "source", "served/shop.git");
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "skerry-test-git-"));
  undo.defer(() => rm(folder, { recursive: true }));
  await chmod(folder, 0o755);
  await makeRepository();
  platform = undo.adopt(
    await startPlatform({
      assets: inject("assets"),
      env: { ...eagerServices, ...nothingWaits },
    }),
    (started) => started.stop(),
  );
  // Last, and so closed first: other files wait for it. A namespace of processes, so that all of the daemon
  // ends with it.
  const served = join(folder, "served");
  const daemon = `git daemon --export-all --reuseaddr --listen=203.0.113.30 --base-path=${served} ${served} & echo ready; wait`;
  undo.use(await World.open(["unshare", "--pid", "--fork", "--kill-child=KILL", "sh", "-c", daemon]));
}, TIMEOUT_MS);

afterAll(() => undo.disposeAsync());

async function build(request: Partial<BuildRequest>): Promise<[Build, string]> {
  const lines: string[] = [];
  const onLine = ({ text }: { readonly text: string }) => void lines.push(text);
  const ended = await platform.client.templates.build({ ...alone, ...request }, { onLine });
  return [ended, lines.join("\n")];
}

test(
  "a folder of a repository is detected in the builder, and sandboxes of its template wake with it running",
  async () => {
    const [built, log] = await build({ git: `${REPOSITORY}#first:web`, tag: "1" });
    expect(built, log).toMatchObject({ status: "ready", commit, error: null });
    expect(log).toContain(`commit ${commit}`);
    await using sandbox = await platform.client.sandboxes.create({ template: "shop:1", timeout: "10m" });
    expect(await sandbox.execute("curl -s http://127.0.0.1:8080/; pwd")).toMatchObject({
      exit_code: 0,
      stdout: "<h1>the first page</h1>\n/app\n",
    });
  },
  TIMEOUT_MS,
);

test(
  "a reference that is not there fails the build, and so does an egress policy that lets nothing through",
  async () => {
    const steps = [{ copy: { from: ".", to: "/srv" } }];
    const [absent, log] = await build({ git: `${REPOSITORY}#third`, steps });
    expect(absent, log).toMatchObject({
      status: "failed",
      commit: null,
      error: { code: "build_step_failed" },
    });
    const [denied] = await build({ git: REPOSITORY, steps, egress: { mode: "deny_all" } });
    expect(denied).toMatchObject({ status: "failed", commit: null, error: { step: 0 } });
  },
  TIMEOUT_MS,
);

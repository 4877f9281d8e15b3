// Repositories as contexts of builds: what may be named, and the script that clones, against servers of Git on loopback.

import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, normalize } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { readGitSource } from "../src/context/git-source.ts";
import { isUndetected, planBuild } from "../src/plan/plan-build.ts";
import { SmallRoot } from "./support/small-root.ts";

test.each([
  ["https://example.com/a/b.git", { url: "https://example.com/a/b.git", ref: "HEAD", folder: "." }],
  ["http://[::1]:8080/b#v1.2", { url: "http://[::1]:8080/b", ref: "v1.2", folder: "." }],
  [
    "git://example.com/b#feature/x:apps/web/",
    { url: "git://example.com/b", ref: "feature/x", folder: "apps/web" },
  ],
  ["https://example.com/b#:docs", { url: "https://example.com/b", ref: "HEAD", folder: "docs" }],
])("%s names a repository", (text, source) => {
  expect(readGitSource(text)).toEqual(source);
});

test.each([
  ["ext::sh -c touch% /tmp/x", /is no URL/],
  ["file:///etc", /is no URL/],
  ["ssh://example.com/b", /is no URL/],
  ["example.com:b.git", /is no URL/],
  ["--upload-pack=touch /tmp/x", /is no URL/],
  ["https://example.com/a b", /is no URL/],
  ["https://example.com/a\n", /is no URL/],
  ["https://user:secret@example.com/b", /has a user or a password/],
  ["https://example.com/b#--upload-pack=x", /names no branch/],
  ["https://example.com/b#a..b", /names no branch/],
  ["https://example.com/b#main:../other", /leads out of the folder/],
  ["https://example.com/b#main:/etc", /is absolute/],
])("%j is refused", (text, message) => {
  expect(() => readGitSource(text)).toThrow(message);
});

test("what is built of a repository is said, or detected when it is there", () => {
  const git = "https://example.com/b";
  expect(isUndetected({ git })).toBe(true);
  expect(planBuild({ git })).toMatchObject({ on: null, steps: [{ kind: "git", name: `clone ${git}` }] });
  const steps = [{ copy: { from: ".", to: "/app" } }];
  expect(planBuild({ git, steps }).steps.map(({ kind }) => kind)).toEqual(["git", "copy", "seal"]);
  expect(planBuild({ git, dockerfile: {} }).steps.map(({ kind }) => kind)).toEqual([
    "git",
    "dockerfile",
    "seal",
  ]);
  expect(() => planBuild({ git, image: "alpine" })).toThrow("`git` and `image` cannot be built together.");
});

let folder: string;
let daemon: ChildProcess;
let plain: Server;
let gitUrl: string;
let httpUrl: string;
let redirect: string;
const git = (...args: string[]) =>
  execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], {
    cwd: join(folder, "source"),
    encoding: "utf8",
    env: { PATH: process.env["PATH"], HOME: folder, GIT_CONFIG_NOSYSTEM: "1" },
  }).trim();

/** A server of a repository's files alone. */
async function servePlain(): Promise<Server> {
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? "", "http://here").pathname;
    if (path.startsWith("/away")) return void response.writeHead(302, { location: redirect }).end();
    void readFile(join(folder, normalize(path))).then(
      (bytes) => response.end(bytes),
      () => response.writeHead(404).end(),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

async function serveGit(): Promise<string> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  const options = ["--export-all", `--base-path=${folder}`, "--listen=127.0.0.1", `--port=${port}`];
  daemon = spawn("git", ["daemon", "--reuseaddr", ...options, folder], { stdio: "ignore" });
  for (let tries = 0; ; tries += 1) {
    const socket = connect(port, "127.0.0.1");
    const isUp = await once(socket, "connect").then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isUp) return `git://127.0.0.1:${port}/served.git`;
    if (tries > 200) throw new Error("git daemon does not listen");
    await sleep(50);
  }
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "skerry-git-"));
  for (const name of ["web", "sub"]) await mkdir(join(folder, "source", name), { recursive: true });
  git("init", "--quiet", "--initial-branch=main");
  await writeFile(join(folder, "source/package.json"), "{}");
  await writeFile(join(folder, "source/web/index.html"), "first");
  await symlink("/", join(folder, "source/out"));
  await writeFile(
    join(folder, "source/.gitmodules"),
    `[submodule "sub"]\n\tpath = sub\n\turl = ${folder}/source\n`,
  );
  git("add", ".");
  git("update-index", "--add", "--cacheinfo", `160000,${"1".repeat(40)},sub`);
  git("commit", "--quiet", "-m", "one");
  git("tag", "v1");
  await writeFile(join(folder, "source/web/index.html"), "second");
  git("commit", "--quiet", "-am", "two");
  git("clone", "--quiet", "--bare", ".", join(folder, "served.git"));
  git("--git-dir", join(folder, "served.git"), "update-server-info");
  gitUrl = await serveGit();
  plain = await servePlain();
  httpUrl = `http://127.0.0.1:${(plain.address() as AddressInfo).port}`;
}, 30_000);

afterAll(async () => {
  daemon.kill();
  plain.closeAllConnections();
  plain.close();
  await rm(folder, { recursive: true, force: true });
});

let small: SmallRoot;
beforeEach(async () => {
  small = await SmallRoot.make({ programs: [] });
});
afterEach(() => small[Symbol.asyncDispose]());

async function clone(source: string, commit?: string) {
  const [step] = planBuild({ git: source, ...(commit === undefined ? {} : { commit }) }).steps;
  if (step === undefined) throw new Error("there is no step");
  return small.run(step);
}

const told = (name: string) => readFile(join(small.folder, "told", name), "utf8");

test("a server of plain files is cloned as it is now, without what Git keeps and without submodules", async () => {
  const commit = git("rev-parse", "HEAD");
  const { code, stdout } = await clone(`${httpUrl}/served.git`);
  expect([code, stdout]).toEqual([0, `commit ${commit}\n`]);
  expect((await readdir(small.context)).toSorted()).toEqual([
    ".gitmodules",
    "out",
    "package.json",
    "sub",
    "web",
  ]);
  expect(await readdir(join(small.context, "sub"))).toEqual([]);
  expect((await lstat(join(small.context, "out"))).isSymbolicLink()).toBe(true);
  expect(await told("commit")).toBe(`${commit}\n`);
  // With a slash behind a link.
  expect((await told("files")).split("\0").toSorted()).toEqual([
    "",
    ".gitmodules",
    "out/",
    "package.json",
    "web/index.html",
  ]);
});

test("a tag, and a folder of it alone", async () => {
  const { code, stdout } = await clone(`${gitUrl}#v1:web`);
  expect([code, stdout]).toEqual([0, `commit ${git("rev-parse", "v1")}\n`]);
  expect(await readdir(small.context)).toEqual(["index.html"]);
  expect(await readFile(join(small.context, "index.html"), "utf8")).toBe("first");
});

test.each([
  ["a folder that is not there", "#main:nothing", "there is no folder nothing in the repository"],
  ["a link that leads out", "#main:out", "out is a link that leads out of the repository"],
])("%s is refused with a sentence", async (_, rest, sentence) => {
  const { code, stderr } = await clone(`${gitUrl}${rest}`);
  expect(code).toBe(125);
  expect(stderr).toContain(sentence);
});

test("what has become another commit is not built as if it were the one of before", async () => {
  const { code, stderr } = await clone(`${gitUrl}#main`, "2".repeat(40));
  expect(code).toBe(125);
  expect(stderr).toContain("main has become another commit meanwhile; retry the build");
});

test.each(["file", "ftp", "ext::sh -c touch% PLACE"])(
  "a server that sends to %s is not followed",
  async (to) => {
    redirect = to === "file" ? `file://${folder}/served.git` : to.replace("PLACE", join(folder, "touched"));
    if (to === "ftp") redirect = "ftp://127.0.0.1/served.git";
    const { code, stderr } = await clone(`${httpUrl}/away/served.git`);
    expect([code === 0, stderr === ""]).toEqual([false, false]);
    expect((await readdir(folder)).includes("touched")).toBe(false);
  },
);

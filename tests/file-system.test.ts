// The file system of a real guest, beside the content of its files.

import { afterAll, beforeAll, expect, test } from "vitest";
import type { Sandbox } from "@skerry/contract/sandboxes/sandbox";
import type { DirectoryListing, FileInfo } from "@skerry/contract/vms/files";
import { createSandbox, destroySandbox, fileUrl, outputOf, refusal } from "./support/api.ts";
import { call, until } from "./support/platform.ts";
import { sharedPlatform } from "./support/shared.ts";

const platform = await sharedPlatform();
let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await createSandbox(platform, { template: "base", timeout: "30m" });
});

afterAll(() => destroySandbox(platform, sandbox.id));

function inGuest(command: string): Promise<string> {
  return outputOf(platform, sandbox.id, command, "2m");
}

function ask(
  method: "GET" | "PUT" | "PATCH" | "DELETE",
  part: "files" | "stat" | "directories",
  path: string,
  json?: object,
): Promise<Response> {
  const [place = "", query = ""] = path.split("?");
  const url = fileUrl(sandbox.id, place, query === "" ? "" : `?${query}`).replace("/files/", `/${part}/`);
  return call(platform, method, url, json === undefined ? {} : { body: json });
}

async function answer<T>(asked: Promise<Response>): Promise<T> {
  const response = await asked;
  expect(response.status, await response.clone().text()).toBe(200);
  return (await response.json()) as T;
}

test("a directory is made, a file in it is described, changed, moved and removed", async () => {
  const made = await answer<FileInfo>(ask("PUT", "directories", "/fs/a/b?mode=0750"));
  expect(made).toMatchObject({ path: "/fs/a/b", type: "directory", mode: "0750", owner: "root" });
  await inGuest("printf hello >/fs/a/b/file && chown daemon:games /fs/a/b/file && ln -s file /fs/a/b/link");
  expect(await answer<FileInfo>(ask("GET", "stat", "/fs/a/b/file"))).toMatchObject({
    ...{ name: "file", size: 5, type: "file", mode: "0644", owner: "daemon", group: "games" },
  });
  const link = await answer<FileInfo>(ask("GET", "stat", "/fs/a/b/link"));
  expect(link).toMatchObject({ type: "symlink", target: "file" });
  const followed = await answer<FileInfo>(ask("GET", "stat", "/fs/a/b/link?follow=true"));
  expect(followed).toMatchObject({ type: "file", size: 5 });
  const changed = await answer<FileInfo>(ask("PATCH", "files", "/fs/a/b/link", { mode: "0711" }));
  expect(changed.mode).toBe("0711");
  const moved = await answer<FileInfo>(ask("PATCH", "files", "/fs/a/b/file", { path: "/fs/c/d/moved" }));
  expect(moved).toMatchObject({ path: "/fs/c/d/moved", mode: "0711" });
  expect(await inGuest("cat /fs/c/d/moved; ls -A /fs/a/b")).toBe("hellolink");
  await refusal(ask("DELETE", "files", "/fs"), 409, "directory_not_empty");
  expect((await ask("DELETE", "files", "/fs?recursive=true")).status).toBe(204);
  await refusal(ask("GET", "stat", "/fs"), 404, "file_not_found");
});

test("a tree is moved to another file system with all that is in it", async () => {
  await inGuest(
    "mkdir -p /x/sub && echo 1 >/x/sub/one && chmod 600 /x/sub/one && mkdir -p /mnt/t && mount -t tmpfs t /mnt/t",
  );
  await answer<FileInfo>(ask("PATCH", "files", "/x", { path: "/mnt/t/x" }));
  expect(await inGuest("stat -c '%a %n' /mnt/t/x/sub/one; ls -d /x 2>&1 || true")).toMatch(
    /^600 .*one\n.*No such/,
  );
  await refusal(ask("DELETE", "files", "/mnt/t?recursive=true"), 422, "permission_denied");
  await inGuest("umount /mnt/t");
});

test("a list goes below its directory, is cut where it is told, and walks no loop of links", async () => {
  await inGuest(
    "mkdir -p /tree/a/b && touch /tree/a/b/deep && ln -s /tree /tree/a/loop && seq -f /tree/%g 300 | xargs touch",
  );
  const all = await answer<DirectoryListing>(ask("GET", "files", "/tree?list=true&depth=64"));
  expect(all.truncated).toBe(false);
  const paths = all.entries.map(({ path = "" }) => path).filter((path) => path.startsWith("a"));
  expect(paths.toSorted()).toEqual(["a", "a/b", "a/b/deep", "a/loop"]);
  expect(all.entries).toHaveLength(304);
  const cut = await answer<DirectoryListing>(ask("GET", "files", "/tree?list=true&depth=2&limit=100"));
  expect([cut.entries.length, cut.truncated]).toEqual([100, true]);
});

test("names without sense, loops of links and trees without end harm nothing", async () => {
  await inGuest(
    String.raw`mkdir -p /odd && cd /odd && touch "$(printf 'bad\377name')" "$(printf 'new\nline')" && ln -s two one && ln -s one two`,
  );
  const { entries } = await answer<DirectoryListing>(ask("GET", "files", "/odd?list=true"));
  expect(entries.map(({ name }) => name).toSorted()).toEqual(["bad\ufffdname", "new\nline", "one", "two"]);
  await refusal(ask("GET", "stat", "/odd/one/x"), 400, "invalid_path");
  await refusal(ask("GET", "stat", "/odd/one?follow=true"), 400, "invalid_path");
  await refusal(ask("PATCH", "files", "/odd", { path: "/odd/in/itself" }), 400, "invalid_path");
  await refusal(ask("GET", "stat", `/${"n".repeat(256)}`), 400, "invalid_path");
  await refusal(ask("PUT", "directories", "/etc/hostname"), 409, "path_not_directory");
  await refusal(ask("DELETE", "files", "/?recursive=true"), 422, "permission_denied");
  await inGuest(
    "cd /odd && i=0; while [ $i -lt 300 ]; do mkdir dddddddddddddddddddd && cd dddddddddddddddddddd; i=$((i+1)); done",
  );
  expect((await ask("DELETE", "files", "/odd?recursive=true")).status).toBe(204);
});

test("a directory goes down as an archive and up again elsewhere, with permissions, owners and links", async () => {
  await inGuest(
    "mkdir -p /pack/sub/empty && head -c 3000000 /dev/urandom >/pack/sub/data && chmod 4750 /pack/sub/data && chown daemon /pack/sub/data && ln -s data /pack/sub/link",
  );
  const url = (directory: string) => fileUrl(sandbox.id, directory).replace("/files/", "/archives/");
  const archive = await (await call(platform, "GET", url("/pack"))).arrayBuffer();
  const sent = await call(platform, "PUT", url("/unpacked/here"), { raw: archive });
  expect([sent.status, await sent.text()]).toEqual([204, ""]);
  const seen = (at: string) =>
    `cd ${at} && find . | sort && sha256sum sub/data && stat -c '%a %U' sub/data && readlink sub/link`;
  expect(await inGuest(seen("/unpacked/here"))).toBe(await inGuest(seen("/pack")));
  await refusal(call(platform, "PUT", url("/unpacked"), { raw: "no archive" }), 422, "archive_refused");
  await refusal(call(platform, "GET", url("/etc/hostname")), 409, "path_not_directory");
  await refusal(call(platform, "GET", url("/none")), 404, "file_not_found");
});

test("an archive does in the guest alone what it does", async () => {
  const url = (directory: string) => fileUrl(sandbox.id, directory).replace("/files/", "/archives/");
  // A tar that never ends: the caller leaves, and the VM is as it was.
  await inGuest(
    "mkdir -p /slow /usr/local/bin && printf '#!/bin/sh\\nexec sleep 1000\\n' >/usr/local/bin/tar && chmod 755 /usr/local/bin/tar",
  );
  const leaving = AbortSignal.timeout(1_500);
  await expect(call(platform, "GET", url("/slow"), { signal: leaving })).rejects.toThrow();
  await until("the program is gone", async () => (await inGuest("pgrep -c sleep || true")) === "0");
  await inGuest("mv /usr/local/bin/tar /root/slow-tar && mv /bin/tar /root/tar");
  await refusal(call(platform, "GET", url("/slow")), 422, "program_missing");
  await inGuest("mv /root/tar /bin/tar");
});

test("a signed URL opens its one file until it expires", async () => {
  await inGuest("printf secret >/signed");
  const sign = async (body: object) =>
    answer<{ url: string }>(call(platform, "POST", `/v1/sandboxes/${sandbox.id}/urls`, { body }));
  const { url } = await sign({ path: "/signed" });
  expect(await (await fetch(url)).text()).toBe("secret");
  expect((await fetch(url.replace("/signed", "/etc/passwd"))).status).toBe(403);
  const writing = await sign({ path: "/signed", method: "PUT" });
  expect((await fetch(writing.url, { method: "PUT", body: "changed" })).status).toBe(200);
  expect(
    await inGuest("cat /signed; tr '\\0' '\\n' </proc/*/environ 2>/dev/null | grep -c _skerry || true"),
  ).toBe("changed0");
});

/** What a watch has told so far. */
async function watching(path: string): Promise<{ told: string[]; leave: () => void; over: Promise<void> }> {
  const leaving = new AbortController();
  const url = fileUrl(sandbox.id, path).replace("/files/", "/watch/");
  const response = await call(platform, "GET", `${url}?recursive=true`, { signal: leaving.signal });
  expect(response.status).toBe(200);
  const told: string[] = [];
  const read = async (): Promise<void> => {
    let text = "";
    for await (const chunk of response.body ?? []) {
      const lines = (text + Buffer.from(chunk as Uint8Array).toString()).split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) {
        if (line === "event: end") told.push("end");
        if (!line.startsWith("data: ")) continue;
        const { event, path: at = "" } = JSON.parse(line.slice(6)) as Record<string, string>;
        if (event !== undefined) told.push(`${event} ${at}`.trimEnd());
      }
    }
  };
  const over = read().catch(() => undefined);
  await until("it watches", async () => told.includes("start"));
  return { told, leave: () => leaving.abort(), over };
}

test("a watch tells what changes, and ends with its client and with its directory", async () => {
  await inGuest("mkdir -p /watched/sub");
  const watch = await watching("/watched");
  await inGuest(
    "cd /watched && echo 1 >sub/a && mv sub/a sub/b && mkdir -p new/deep && echo 2 >new/deep/c && rm sub/b",
  );
  await until("all is told", async () => watch.told.includes("remove sub/b"));
  for (const event of ["create sub/a", "write sub/a", "rename sub/a", "create sub/b", "create new/deep/c"])
    expect(watch.told).toContain(event);
  watch.leave();
  await watch.over;
  const agents = () => inGuest("ls -l /proc/[0-9]*/fd 2>/dev/null | grep -c anon_inode:inotify || true");
  await until("the guest has no watch left", async () => (await agents()) === "0");
  const other = await watching("/watched");
  await inGuest("rm -r /watched");
  await other.over;
  expect(other.told.at(-1)).toBe("end");
});

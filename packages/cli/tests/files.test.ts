import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { chmod, chown, link, mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ScriptedServer, sendJson } from "../../sdk/tests/support/scripted-server.ts";
import { mountSmallDisk } from "../../host/tests/support/small-disk.ts";
import { ended, Shell } from "./support/shell.ts";

/** Nothing is looked up for a whole id. */
const FULL_ID = "sbx_01kb3x0q9vt5c7r2m8n4p6w1yz";

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** A program that would run as its owner; nothing: there is no such file. */
function sendInfo(response: ServerResponse, known: { readonly path: string } | undefined): void {
  if (known === undefined)
    return sendJson(response, 404, { code: "file_not_found", message: "There is no such file." });
  sendJson(response, 200, { ...known, name: "x", type: "file", mode: "4751" });
}

/** Keeps what is uploaded, by path, and gives it back. */
function fileServer(files = new Map<string, Buffer>()) {
  return ScriptedServer.start((response, { method, url, body }) => {
    const path = decodeURIComponent(
      new URL(url, "http://host").pathname.replace(/^\/v1\/sandboxes\/sbx_0\/(files|stat)/, ""),
    );
    if (url.includes("/stat/")) return sendInfo(response, files.has(path) ? { path } : undefined);
    if (method === "PUT") {
      files.set(path, body);
      return sendJson(response, 200, { path, size: body.length });
    }
    const content = files.get(path);
    if (content !== undefined) return void response.end(content);
    sendJson(response, 404, { code: "file_not_found", message: `There is no ${path}.` });
  });
}

test("a random binary file survives the way up and down, by hash", async () => {
  await using server = await fileServer();
  await using shell = await Shell.forServer(server);
  const bytes = randomBytes(3_000_000);
  await writeFile(join(shell.folder, "in"), bytes);
  const remote = "/root/dir with space/100% #1?.bin";
  expect(await shell.run("sandbox", "upload", "sbx_0", "in", remote, "--mode", "0755")).toMatchObject({
    code: 0,
    stdout: Buffer.from(`${remote} 3000000 bytes\n`),
  });
  expect(server.last.url).toContain("/root/dir%20with%20space/100%25%20%231%3F.bin?mode=0755");
  expect(server.last.headers["content-length"]).toBe("3000000");
  expect((await shell.run("sandbox", "download", "sbx_0", remote, "out")).code).toBe(0);
  expect(sha256(await readFile(join(shell.folder, "out")))).toBe(sha256(bytes));
  const { stdout } = await shell.run("sandbox", "download", "sbx_0", remote, "-");
  expect(sha256(stdout)).toBe(sha256(bytes));
});

test("upload keeps the permissions of the local file, unless it is told others", async () => {
  await using server = await fileServer();
  await using shell = await Shell.forServer(server);
  const cases = [
    [0o755, "0755"],
    [0o600, "0600"],
    // In the VM it would run as root.
    [0o4755, "0755"],
  ] as const;
  for (const [mode, sent] of cases) {
    await writeFile(join(shell.folder, "in"), "x");
    await chmod(join(shell.folder, "in"), mode);
    expect((await shell.run("sandbox", "upload", "sbx_0", "in", "/root/in")).code).toBe(0);
    expect(server.last.url).toMatch(new RegExp(`mode=${sent}$`));
  }
  await shell.run("sandbox", "upload", "sbx_0", "in", "/root/in", "--mode", "0444");
  expect(server.last.url).toMatch(/mode=0444$/);
});

test("upload reads standard input until it ends", async () => {
  await using server = await fileServer();
  await using shell = await Shell.forServer(server);
  const bytes = randomBytes(500_000);
  const child = shell.start("sandbox", "upload", "sbx_0", "-", "/tmp/x", "--json");
  child.stdin.end(bytes);
  const { code, stdout } = await ended(child);
  expect([code, JSON.parse(stdout.toString())]).toEqual([0, { path: "/tmp/x", size: bytes.length }]);
  expect(sha256(server.last.body)).toBe(sha256(bytes));
});

test("upload that is refused ends, though its standard input does not", async () => {
  await using server = await ScriptedServer.start(
    () => undefined,
    (response) => sendJson(response, 413, { code: "payload_too_large", message: "Too long." }),
  );
  await using shell = await Shell.forServer(server);
  const child = shell.start("sandbox", "upload", "sbx_0", "-", "/tmp/x");
  child.stdin.write("some");
  expect(await ended(child)).toMatchObject({ code: 1, stderr: "error: Too long. (payload_too_large)\n" });
});

test("a path with a slash at its end is a directory that the file keeps its name in", async () => {
  await using server = await fileServer();
  await using shell = await Shell.forServer(server);
  await writeFile(join(shell.folder, "tool.sh"), "true");
  await shell.run("sandbox", "upload", "sbx_0", "tool.sh", "/root/");
  expect(server.last.url).toMatch(/^\/v1\/sandboxes\/sbx_0\/files\/root\/tool\.sh\?/);
  await mkdir(join(shell.folder, "here"));
  await shell.run("sandbox", "download", "sbx_0", "/root/tool.sh", "here");
  expect(await readFile(join(shell.folder, "here/tool.sh"), "utf8")).toBe("true");
  expect((await shell.run("sandbox", "upload", "sbx_0", "-", "/root/")).code).toBe(2);
  expect((await shell.run("sandbox", "download", "sbx_0", "/root/")).code).toBe(2);
});

test("a directory is not uploaded, and the error says what to do instead", async () => {
  await using server = await fileServer();
  await using shell = await Shell.forServer(server);
  const { code, stderr } = await shell.run("sandbox", "upload", "sbx_0", ".", "/root/x");
  expect([code, server.received.length]).toEqual([1, 0]);
  expect(stderr).toMatch(
    /^error: \. is a directory\. \(is_directory\)\nCopy it with all that is in it: skerry cp \. ID:/,
  );
});

test("a download that breaks off leaves the old file as it was and nothing beside it", async () => {
  await using server = await ScriptedServer.start((response) => {
    response.writeHead(200, { "content-length": "1000" });
    response.write("half", () => response.destroy());
  });
  await using shell = await Shell.forServer(server);
  await writeFile(join(shell.folder, "out"), "old");
  const { code, stderr } = await shell.run("sandbox", "download", "sbx_0", "/x", "out");
  expect([code, stderr]).toEqual([1, expect.stringContaining("(connection_failed)")]);
  expect(await readdir(shell.folder)).toEqual(["out"]);
  expect(await readFile(join(shell.folder, "out"), "utf8")).toBe("old");
});

test("a download of what is not there says so, and makes no file", async () => {
  await using server = await fileServer();
  await using shell = await Shell.forServer(server);
  const { code, stderr } = await shell.run("sandbox", "download", "sbx_0", "/no/such/file", "out");
  expect([code, stderr]).toEqual([1, expect.stringContaining("(file_not_found)")]);
  expect(await readdir(shell.folder)).toEqual([]);
});

test("Ctrl-C during a download leaves no file behind", async () => {
  const begun = Promise.withResolvers<void>();
  await using server = await ScriptedServer.start((response) => {
    response.write("half", () => begun.resolve());
  });
  await using shell = await Shell.forServer(server);
  const child = shell.start("sandbox", "download", "sbx_0", "/x", "out");
  await begun.promise;
  child.kill("SIGINT");
  expect((await ended(child)).code).toBe(130);
  expect(await readdir(shell.folder)).toEqual([]);
  await server.aborted.promise;
});

/** A file without an end. */
function endless(): Promise<ScriptedServer> {
  const piece = Buffer.alloc(256 * 1024);
  return ScriptedServer.start((response, { url }) => {
    if (url.includes("/stat/")) return sendInfo(response, { path: "/endless" });
    const send = () => {
      while (response.write(piece));
    };
    response.on("drain", send);
    send();
  });
}

test("a file without an end does not fill the disk that it is saved on, and nothing is kept of it", async () => {
  await using server = await endless();
  await using shell = await Shell.forServer(server);
  await using disk = await mountSmallDisk("download", 16);
  await writeFile(join(disk.folder, "out"), "old");
  const { code, stderr } = await shell.run(
    "sandbox",
    "download",
    "sbx_0",
    "/sparse",
    join(disk.folder, "out"),
  );
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^error: .*\(too_large\)\n.*--max-size/)]);
  await server.aborted.promise;
  expect(await readdir(disk.folder)).toEqual(["out"]);
  expect(await readFile(join(disk.folder, "out"), "utf8")).toBe("old");
});

test("--max-size bounds a download to a file and to standard output, and a file of exactly that size fits", async () => {
  await using server = await endless();
  await using shell = await Shell.forServer(server);
  const download = (local: string, size: string) =>
    shell.run("sandbox", "download", "sbx_0", "/sparse", local, "--max-size", size);
  expect(await download("out", "1M")).toMatchObject({ code: 1, stderr: expect.stringContaining("1048576") });
  expect(await readdir(shell.folder)).toEqual([]);
  const piped = await download("-", "1.5m");
  expect([piped.code, piped.stdout.length <= 1.5 * 1024 * 1024]).toEqual([1, true]);
  for (const wrong of ["", "x", "-1", "1X", "1e3"]) expect((await download("out", wrong)).code).toBe(2);
  await using small = await fileServer(new Map([["/x", Buffer.alloc(2_048)]]));
  await using other = await Shell.forServer(small);
  expect((await other.run("sandbox", "download", "sbx_0", "/x", "out", "--max-size", "2K")).code).toBe(0);
  expect((await other.run("sandbox", "download", "sbx_0", "/x", "out", "--max-size", "2047")).code).toBe(1);
  expect((await stat(join(other.folder, "out"))).size).toBe(2_048);
});

test("a new file has the permissions that it has in the VM, but for those that run it as its owner", async () => {
  await using server = await fileServer(new Map([["/x", Buffer.from("new")]]));
  await using shell = await Shell.forServer(server);
  await shell.run("sandbox", "download", "sbx_0", "/x", "out");
  expect((await stat(join(shell.folder, "out"))).mode & 0o7777).toBe(0o751 & ~process.umask());
});

test("a server, or a VM, that cannot tell permissions gives the file all the same", async () => {
  for (const code of ["not_found", "vm_outdated"]) {
    await using server = await ScriptedServer.start((response, { url }) => {
      if (url.includes("/stat/")) return sendJson(response, 404, { code, message: "No." });
      response.end("content");
    });
    await using shell = await Shell.forServer(server);
    expect((await shell.run("sandbox", "download", "sbx_0", "/x", "out")).code).toBe(0);
    expect(await readFile(join(shell.folder, "out"), "utf8")).toBe("content");
  }
});

test("download keeps a link, the permissions behind it, and devices", async () => {
  await using server = await fileServer(new Map([["/x", Buffer.from("new")]]));
  await using shell = await Shell.forServer(server);
  await writeFile(join(shell.folder, "real"), "old", { mode: 0o600 });
  await symlink("real", join(shell.folder, "link"));
  await shell.run("sandbox", "download", "sbx_0", "/x", "link");
  expect(await readFile(join(shell.folder, "real"), "utf8")).toBe("new");
  expect((await stat(join(shell.folder, "real"))).mode & 0o777).toBe(0o600);
  expect((await readdir(shell.folder)).toSorted()).toEqual(["link", "real"]);
  await shell.run("sandbox", "download", "sbx_0", "/x", "/dev/null");
  expect((await stat("/dev/null")).isCharacterDevice()).toBe(true);
});

test("download over a file keeps its owner, its permissions whatever the umask is, and its other names", async () => {
  await using server = await fileServer(new Map([["/x", Buffer.from("new")]]));
  await using shell = await Shell.forServer(server);
  const at = (name: string) => join(shell.folder, name);
  await writeFile(at("one"), "a longer one");
  await chmod(at("one"), 0o666);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) await chown(at("one"), 1234, 5678);
  await shell.run("sandbox", "download", "sbx_0", "/x", "one");
  const { mode, uid } = await stat(at("one"));
  expect([mode & 0o777, uid]).toEqual([0o666, isRoot ? 1234 : process.getuid?.()]);
  await link(at("one"), at("two"));
  await writeFile(at("two"), "a longer one");
  await shell.run("sandbox", "download", "sbx_0", "/x", "one");
  expect([await readFile(at("two"), "utf8"), (await stat(at("one"))).nlink]).toEqual(["new", 2]);
  expect((await readdir(shell.folder)).toSorted()).toEqual(["one", "two"]);
});

test("a download that cannot be saved ends with the file's error", async () => {
  await using server = await ScriptedServer.start((response, { url }) => {
    if (url.includes("/stat/")) return sendInfo(response, { path: "/x" });
    response.write("it never ends");
  });
  await using shell = await Shell.forServer(server);
  const { code, stderr } = await shell.run("sandbox", "download", "sbx_0", "/x", "no/such/folder");
  expect([code, stderr]).toEqual([
    1,
    "error: There is no file or directory no/such on this machine. (no_such_file)\n",
  ]);
});

test("--json escapes what a terminal would obey, and is the same JSON", async () => {
  const name =
    "csi\u009b2J osc\u009d0;x\u009c del\u007f rtl\u202e\u2066\u200f\u061c nel\u0085 lines\u2028\u2029 ä€😀";
  const entry = { name, size: 3, type: "file", modified: "2026-11-20T16:21:09.123Z" };
  const listing = { entries: [entry], truncated: false };
  await using server = await ScriptedServer.start((response) => sendJson(response, 200, listing));
  await using shell = await Shell.forServer(server);
  const { stdout } = await shell.run("sandbox", "ls", "sbx_0", "--json");
  expect(JSON.parse(stdout.toString())).toEqual(listing);
  expect(stdout.toString()).toContain("csi\\u009b2J");
  expect(stdout.toString()).toContain("ä€😀");
  expect(stdout.toString().replaceAll("\n", "")).not.toMatch(
    /[\p{Cc}\u061c\u200f\u2028-\u202e\u2066-\u2069]/u,
  );
});

test("ls shows names of files without letting them touch the terminal; --json has them exactly", async () => {
  const name = "evil\x1b[2J\u202Efdp.exe";
  const entry = { name, size: 3, type: "file", modified: "2026-11-20T16:21:09.123Z" };
  await using server = await ScriptedServer.start((response) =>
    sendJson(response, 200, { entries: [entry], truncated: true }),
  );
  await using shell = await Shell.forServer(server);
  const { stdout, stderr } = await shell.run("sandbox", "ls", "sbx_0");
  expect(stdout.toString()).toMatch(
    /^TYPE {2}MODE {2}OWNER {2}SIZE {2}MODIFIED +NAME\nfile {2}- {5}- {6}3 {5}\S.* {2}evil\\x1b\[2J\\u202efdp\.exe\n$/,
  );
  expect(stderr).toContain("more entries");
  expect(server.last.url).toBe("/v1/sandboxes/sbx_0/files/root?list=true");
  const json = await shell.run("sandbox", "ls", "sbx_0", "/", "--json");
  expect(JSON.parse(json.stdout.toString())).toEqual({ entries: [entry], truncated: true });
});

test("an upload that the user interrupts closes the connection", async () => {
  await using server = await fileServer();
  await using shell = await Shell.forServer(server);
  const child = shell.start("sandbox", "upload", FULL_ID, "-", "/tmp/x");
  child.stdin.write("some");
  await server.begun.promise;
  child.kill("SIGINT");
  expect((await ended(child)).code).toBe(130);
  if (!child.stdin.closed) await once(child.stdin, "close").catch(() => undefined);
  expect(server.received).toEqual([]);
});

// Files in and out of a real microVM. The hashes are computed on both sides, so no byte can change on the way unseen.

import { createHash, randomBytes } from "node:crypto";
import { request, type IncomingMessage } from "node:http";
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { DirectoryListing, FileWritten } from "@skerry/contract/vms/files";
import type { Sandbox } from "@skerry/contract/sandboxes/sandbox";
import { UPLOAD_MAX_BYTES } from "@skerry/contract/bounds";
import { createSandbox, destroySandbox, execute, fileUrl, outputOf, refusal } from "./support/api.ts";
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

function put(path: string, raw: RequestInit["body"], query = ""): Promise<Response> {
  return call(platform, "PUT", fileUrl(sandbox.id, path, query), { raw: raw ?? null });
}

function get(path: string, query = ""): Promise<Response> {
  return call(platform, "GET", fileUrl(sandbox.id, path, query));
}

async function putWhole(path: string, raw: RequestInit["body"], query = ""): Promise<FileWritten> {
  const response = await put(path, raw, query);
  expect(response.status).toBe(200);
  return (await response.json()) as FileWritten;
}

async function listing(path: string): Promise<DirectoryListing> {
  const response = await get(path, "?list=true");
  expect(response.status).toBe(200);
  return (await response.json()) as DirectoryListing;
}

/** The same bytes over and over, as a client sends them that does not know the length beforehand. */
async function* pieces(total: number): AsyncGenerator<Uint8Array> {
  const piece = Buffer.alloc(64 * 1024, 5);
  for (let left = total; left > 0; left -= piece.length)
    yield piece.subarray(0, Math.min(left, piece.length));
}

describe("a file of the largest size", () => {
  test("arrives with every byte, and comes back with every byte", async () => {
    const bytes = randomBytes(UPLOAD_MAX_BYTES);
    const digest = createHash("sha256").update(bytes).digest("hex");
    expect(await putWhole("/data/largest.bin", bytes)).toEqual({
      path: "/data/largest.bin",
      size: UPLOAD_MAX_BYTES,
    });
    expect(await inGuest("sha256sum </data/largest.bin")).toBe(`${digest}  -`);
    const back = createHash("sha256");
    for await (const chunk of (await get("/data/largest.bin")).body ?? []) back.update(chunk as Uint8Array);
    expect(back.digest("hex")).toBe(digest);
    await inGuest("rm /data/largest.bin");
  });

  test("and one byte more is refused, with and without a length sent ahead, and leaves nothing", async () => {
    await inGuest("mkdir -p /too-large");
    const known = put("/too-large/known", Buffer.alloc(UPLOAD_MAX_BYTES + 1));
    await refusal(known, 413, "payload_too_large");
    const chunked = put("/too-large/chunked", ReadableStream.from(pieces(UPLOAD_MAX_BYTES + 1)));
    await refusal(chunked, 413, "payload_too_large");
    expect(await inGuest("ls -A /too-large")).toBe("");
  });
});

test("an upload that breaks off leaves neither the file nor a part of it, and keeps the file of before", async () => {
  await putWhole("/broken/old", "as it was");
  for (const name of ["old", "new", "deeper/new"]) {
    const upload = request(`${platform.apiUrl}${fileUrl(sandbox.id, `/broken/${name}`)}`, {
      method: "PUT",
      headers: { authorization: `Bearer ${platform.token}`, "content-length": 5_000_000 },
    });
    upload.on("error", () => undefined); // we break it off ourselves
    upload.write(Buffer.alloc(1_000_000, 1));
    await once(upload, "drain");
    upload.destroy();
  }
  const nobodyWrites = "! ls -l /proc/[0-9]*/fd 2>/dev/null | grep -q '/broken/'";
  await until("every broken upload has ended in the sandbox", async () => {
    const run = await execute(platform, sandbox.id, { command: nobodyWrites });
    return run.exit_code === 0;
  });
  expect(await inGuest("find /broken -type f")).toBe("/broken/old");
  expect(await inGuest("cat /broken/old")).toBe("as it was");
});

test("whoever reads a file while it is overwritten sees the old one or the new one, never a part", async () => {
  const versions = ["o".repeat(300_000), "y".repeat(400_000)];
  await putWhole("/atomic/file", versions[0]);
  // Reads until it has seen the file change ten times, and prints every content that is no version.
  await putWhole("/atomic/watch.py", WATCH);
  let watching = true;
  const watch = execute(platform, sandbox.id, { command: "python3 /atomic/watch.py", timeout: "2m" }).finally(
    () => (watching = false),
  );
  for (let round = 1; watching; round += 1) await putWhole("/atomic/file", versions[round % 2]);
  expect(await watch).toMatchObject({ exit_code: 0, stdout: "changes 10\n", stderr: "" });
  expect(await inGuest("ls -A /atomic")).toBe("file\nwatch.py");
});

const WATCH = `
versions = [b"o" * 300_000, b"y" * 400_000]
changes, last = 0, versions[0]
while changes < 10:
    with open("/atomic/file", "rb") as file:
        seen = file.read()
    if seen not in versions:
        print("torn", len(seen), seen[:1], seen[-1:])
    changes, last = changes + (seen != last), seen
print("changes", changes)
`;

test("missing folders are made, and the permissions are those that were asked for", async () => {
  await putWhole("/made/on/the/way/tool.sh", "#!/bin/sh\necho runs\n", "?mode=0755");
  await putWhole("/made/on/the/way/plain", "x");
  await putWhole("/made/on/the/way/secret", "x", "?mode=600");
  expect(await inGuest("/made/on/the/way/tool.sh")).toBe("runs");
  expect(await inGuest("cd /made/on/the/way && stat -c '%a %U %n' *")).toBe(
    "644 root plain\n600 root secret\n755 root tool.sh",
  );
  expect(await inGuest("stat -c %a /made /made/on/the/way")).toBe("755\n755");
  await refusal(put("/made/bad", "x", "?mode=999"), 400, "bad_request");
});

test("an upload over a file keeps its permissions, its owner, the link and the other names", async () => {
  await inGuest(
    "mkdir /over && cd /over && echo s >run.sh && chmod 0750 run.sh && chown 1000:1001 run.sh && echo t >target && chmod 600 target && ln -s target link && echo h >one && ln one two",
  );
  for (const name of ["run.sh", "link", "one"]) await putWhole(`/over/${name}`, "new");
  expect(
    await inGuest("cd /over && stat -c '%n %F %a %u:%g %h' run.sh link target one && cat two target"),
  ).toBe(
    "run.sh regular file 750 1000:1001 1\nlink symbolic link 777 0:0 1\ntarget regular file 600 0:0 1\none regular file 644 0:0 2\nnewnew",
  );
  await putWhole("/over/run.sh", "new", "?mode=0700");
  expect(await inGuest("stat -c '%a %u:%g' /over/run.sh")).toBe("700 1000:1001");
});

test("an empty file is a file", async () => {
  expect(await putWhole("/empty/file", "")).toEqual({ path: "/empty/file", size: 0 });
  const response = await get("/empty/file");
  expect(response.status).toBe(200);
  expect(await response.text()).toBe("");
});

test("names with blanks, line breaks, dashes, quotes and letters of any language work", async () => {
  const names = [
    "with blanks  two",
    "line\nbreak",
    "-rf",
    "日本語 ünï ✓",
    `q'"\\`,
    "100% #1?a=b&c",
    "%41",
    ".hidden",
  ];
  for (const name of names) {
    await putWhole(`/odd/${name}`, name);
    expect(await (await get(`/odd/${name}`)).text()).toBe(name);
  }
  const { entries } = await listing("/odd");
  expect(entries.map(({ name }) => name).toSorted()).toEqual(names.toSorted());
  expect(await inGuest("ls -A /odd | wc -l")).toBe(String(names.length + 1)); // one name has two lines
});

test("a directory lists every entry with its name, type, size and time", async () => {
  await inGuest(
    [
      "mkdir -p /list/folder && cd /list && printf 12345 >file && ln -s /no/where link && mkfifo pipe",
      "touch -d '2020-02-29T12:34:56.789Z' file",
    ].join("\n"),
  );
  const { entries, truncated } = await listing("/list");
  expect(truncated).toBe(false);
  const byName = Object.fromEntries(entries.map((entry) => [entry.name, entry]));
  expect(Object.keys(byName).toSorted()).toEqual(["file", "folder", "link", "pipe"]);
  expect(byName["file"]).toEqual({
    name: "file",
    type: "file",
    mode: "0644",
    owner: "root",
    group: "root",
    size: 5,
    modified: "2020-02-29T12:34:56.789Z",
  });
  expect(byName["folder"]).toMatchObject({ type: "directory" });
  expect(byName["link"]).toMatchObject({ type: "symlink" });
  expect(byName["pipe"]).toMatchObject({ type: "other" });
  const age = Date.now() - Date.parse(byName["folder"]?.modified ?? "");
  expect(Math.abs(age)).toBeLessThan(120_000);
  for (const { modified } of entries) expect(modified).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  expect((await listing("/list/folder")).entries).toEqual([]);
  expect((await listing("/")).entries.map(({ name }) => name)).toContain("etc");
});

test("a file comes with its length, and a part of it where one is asked for", async () => {
  const bytes = randomBytes(300_000);
  await putWhole("/range/file", bytes);
  const response = await get("/range/file");
  expect(response.headers.get("content-length")).toBe("300000");
  expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true);
  const part = await fetch(platform.apiUrl + fileUrl(sandbox.id, "/range/file"), {
    headers: { authorization: `Bearer ${platform.token}`, range: "bytes=100000-100009" },
  });
  expect([part.status, part.headers.get("content-range")]).toEqual([206, "bytes 100000-100009/300000"]);
  expect(Buffer.from(await part.arrayBuffer())).toEqual(bytes.subarray(100_000, 100_010));
});

test("files that the kernel makes up can be read", async () => {
  expect(await (await get("/proc/version")).text()).toMatch(/^Linux version 6\.1/);
  expect(await (await get("/proc/meminfo")).text()).toMatch(/^MemTotal: +\d+ kB\n/);
  expect(await (await get("/sys/kernel/mm/transparent_hugepage/enabled")).text()).toContain("madvise");
});

test("a file that can be opened and not read is an error that says so, not a host that is away", async () => {
  await refusal(get("/proc/1/mem"), 502, "guest_failed");
});

describe("a path that cannot be meant", () => {
  const long = "a".repeat(5_000);
  const odd = {
    "with ..": "etc/../etc/passwd",
    "with an encoded ..": "etc/%2e%2e/passwd",
    "with NUL": "tmp/a%00b",
    "of 5,000 characters": long,
    "of 5,000 characters in parts": "abcd/".repeat(1_000) + "x",
    "that is not UTF-8": "tmp/%ff",
    "with a part of 300 characters": `tmp/${"b".repeat(300)}`,
  };
  test.each(Object.entries(odd))("%s is refused", async (_what, path) => {
    // Not by fetch, which would tidy `..` away.
    for (const method of ["GET", "PUT"] as const) {
      const answer = rawCall(method, `/v1/sandboxes/${sandbox.id}/files/${path}`);
      await refusal(answer, 400, "invalid_path");
    }
  });
});

describe("a path to something else", () => {
  test("a missing file and a missing folder are not found", async () => {
    await refusal(get("/no/such/file"), 404, "file_not_found");
    await refusal(get("/no/such/folder", "?list=true"), 404, "file_not_found");
  });

  test("a folder is no file, neither to read nor to write", async () => {
    await refusal(get("/etc"), 409, "path_is_directory");
    await refusal(put("/etc", "x"), 409, "path_is_directory");
  });

  test("a file is no folder, neither to list nor to write into", async () => {
    await refusal(get("/etc/hostname", "?list=true"), 409, "path_not_directory");
    await refusal(get("/etc/hostname/below"), 409, "path_not_directory");
    await refusal(put("/etc/hostname/below", "x"), 409, "path_not_directory");
  });

  test("a pipe or a device is refused at once, and nobody hangs on it", async () => {
    await inGuest("mkfifo /tmp/pipe-alone");
    for (const path of ["/tmp/pipe-alone", "/dev/zero", "/dev/console"]) {
      await refusal(get(path), 409, "path_not_file");
      await refusal(put(path, "x"), 409, "path_not_file");
    }
  });

  test("a place where nothing can be written says so", async () => {
    await inGuest("mkdir -p /read-only && mount -t tmpfs -o ro tmpfs /read-only");
    await refusal(put("/read-only/new", "x"), 422, "permission_denied");
  });
});

/** A request whose path goes out exactly as it is written here. */
async function rawCall(method: "GET" | "PUT", path: string): Promise<Response> {
  const { hostname, port } = new URL(platform.apiUrl);
  const outgoing = request({
    host: hostname,
    port,
    method,
    path,
    headers: { authorization: `Bearer ${platform.token}` },
  });
  outgoing.end(method === "PUT" ? "x" : undefined);
  const [incoming] = (await once(outgoing, "response")) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const id = incoming.headers["x-request-id"];
  return new Response(Buffer.concat(chunks), {
    status: incoming.statusCode ?? 0,
    headers: typeof id === "string" ? { "x-request-id": id } : {},
  });
}

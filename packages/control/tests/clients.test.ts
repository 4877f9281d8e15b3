// What is handed out without a token: the clients, their installer, the document and the page of the API.

import { execFile } from "node:child_process";
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { CLIENT_VERSION, fileNameOf, readClientFiles } from "../src/clients/client-files.ts";
import { quoted } from "../src/clients/install-script.ts";
import { publicAddress } from "../src/http/public-address.ts";
import { openReplica } from "./support/replica.ts";
import { useWorld } from "./support/world.ts";

const execute = promisify(execFile);
const world = useWorld();

/** As it is sent: `fetch` chooses the host itself, and follows redirects. */
async function get(
  path: string,
  headers: OutgoingHttpHeaders = {},
  url = world.url,
): Promise<{ status: number; headers: IncomingMessage["headers"]; text: string }> {
  const { hostname, port } = new URL(url);
  const request = httpRequest({ hostname, port, path, headers });
  request.end();
  const [response] = (await once(request, "response")) as [IncomingMessage];
  return { status: response.statusCode ?? 0, headers: response.headers, text: await text(response) };
}

test.each([
  ["/sdk.tgz", "sdk", "application/gzip"],
  ["/cli.tgz", "cliPackage", "application/gzip"],
  ["/cli", "cli", "text/javascript; charset=utf-8"],
  [`/clients/${fileNameOf("wheel")}`, "wheel", "application/octet-stream"],
  [`/clients/${fileNameOf("sdk")}`, "sdk", "application/gzip"],
] as const)("everybody gets %s, and asks later whether it has changed", async (path, client, type) => {
  const { content, name } = world.context.clients[client] ?? { content: "", name: "" };
  const whole = await get(path);
  expect([whole.status, whole.headers["content-type"], whole.text]).toEqual([200, type, content.toString()]);
  expect(whole.headers["content-disposition"]).toBe(`attachment; filename="${name}"`);
  expect(whole.headers["cache-control"]).toBe("public, no-cache");
  const { etag = "" } = whole.headers;
  expect(etag).toBe(`"${createHash("sha256").update(content).digest("hex")}"`);
  for (const known of [etag, `W/${etag}`, `"x", ${etag}`]) {
    const same = await get(path, { "if-none-match": known });
    expect([same.status, same.text, same.headers.etag], known).toEqual([304, "", etag]);
  }
  expect((await get(path, { "if-none-match": '"x"' })).status).toBe(200);
});

test("the wheel's short address leads to the one whose name pip reads", async () => {
  const { status, headers } = await get("/skerry.whl");
  expect([status, headers.location]).toEqual([302, `clients/skerry-${CLIENT_VERSION}-py3-none-any.whl`]);
  const followed = await fetch(`${world.url}/skerry.whl`);
  expect([followed.status, await followed.text()]).toEqual([200, "the Python client"]);
});

test("nothing but the clients is in their folder, whatever the path says", async () => {
  for (const name of [
    "no-such.tgz",
    "..%2f..%2fetc%2fpasswd",
    "%2fetc%2fpasswd",
    "..",
    "install.sh",
    "%00",
    "__proto__",
  ]) {
    const { status, text: body } = await get(`/clients/${name}`);
    expect([status, body], name).toEqual([404, expect.stringContaining('"not_found"')]);
  }
});

test("what was not built is not found, and the answer says who can change that", async () => {
  await using replica = await openReplica(world, { clients: {} });
  for (const path of ["/sdk.tgz", "/cli", "/cli.tgz", "/skerry.whl", "/install.sh"]) {
    const { status, text: body } = await get(path, {}, replica.url);
    expect([status, body], path).toEqual([
      404,
      expect.stringMatching(/This installation has no .*npm run build/),
    ]);
  }
});

test("a folder that is not there, or cannot be read, hands out nothing and breaks nothing", async () => {
  const folder = await mkdtemp(join(tmpdir(), "skerry-clients-"));
  await writeFile(join(folder, fileNameOf("cli")), "x");
  expect(Object.keys(readClientFiles(folder))).toEqual(["cli"]);
  await rm(folder, { recursive: true });
  expect([readClientFiles(folder), readClientFiles(undefined)]).toEqual([{}, {}]);
});

test("one address gets so many downloads a minute, and no more", async () => {
  const limits = { ...world.context.limits, downloadsPerMinute: 4 };
  await using replica = await openReplica(world, { limits });
  for (const path of ["/cli", "/docs", "/v1/openapi.json"]) {
    expect([(await get(path, {}, replica.url)).status, (await get(path, {}, replica.url)).status]).toEqual([
      200, 200,
    ]);
    const refused = await get(path, {}, replica.url);
    expect([refused.status, refused.headers["retry-after"]], path).toEqual([
      429,
      expect.stringMatching(/^[1-9]/),
    ]);
  }
  expect((await get("/v1/health", {}, replica.url)).status).toBe(200);
});

test("the document and the page need no token, are the same for everybody, and name nobody", async () => {
  for (const path of ["/v1/openapi.json", "/docs"]) {
    const before = (await world.call("GET", path, { token: "" })).text;
    const sandbox = await world.createSandbox();
    for (const token of ["", world.token, await world.strangerToken()])
      expect((await world.call("GET", path, { token })).text).toBe(before);
    for (const secret of [sandbox.id, world.orgId, world.host.socketPath])
      expect(before).not.toContain(secret);
  }
});

test("the bare address leads a browser to the page, and tells a program where things are", async () => {
  const browser = await get("/", { accept: "text/html,application/xhtml+xml,*/*;q=0.8" });
  expect([browser.status, browser.headers.location]).toEqual([302, "docs"]);
  const program = await get("/", { accept: "*/*" });
  const places = JSON.parse(program.text) as Record<string, string>;
  expect(places).toMatchObject({ docs: "docs", openapi: "v1/openapi.json" });
  for (const place of [places["docs"], places["openapi"], places["installer"]])
    expect((await get(`/${place}`)).status, place).toBe(200);
});

describe("the address in the installer", () => {
  const addressIn = (script: string): string | undefined => /^api=(.*)$/m.exec(script)?.[1];

  test.each([
    ["skerry.example.org", "'http://skerry.example.org'"],
    ["Skerry_1.internal:7070", "'http://Skerry_1.internal:7070'"],
    ["127.0.0.1:7070", "'http://127.0.0.1:7070'"],
    ["[::1]:7070", "'http://[::1]:7070'"],
  ])("is the host that was asked: %s", async (host, expected) => {
    const { status, headers, text: script } = await get("/install.sh", { host });
    expect([status, headers["content-type"], addressIn(script)]).toEqual([
      200,
      "text/x-shellscript; charset=utf-8",
      expected,
    ]);
    // No cache may give what was made for one host to who asks for another.
    expect(headers["cache-control"]).toBe("no-store");
  });

  const hostile = [
    ..."' \" ` $ ; & | < > ( ) { } * ? ! # \\ @ / , = + ~ %".split(" ").map((mark) => `skerry${mark}example`),
    "x'; touch /tmp/pwned; '",
    "$(touch /tmp/pwned)",
    "`touch /tmp/pwned`",
    "a b",
    "a\tb",
    "@ADDRESS@",
    "-o",
    ".skerry",
    "[::1",
    "a:99999999",
    "ä.example",
    "x".repeat(300),
  ];

  test.each(hostile)("is never what is no host: %j", async (host) => {
    const { status, text: body } = await get("/install.sh", { host });
    expect([status, body]).toEqual([400, expect.stringContaining('"bad_request"')]);
  });

  test("is not guessed where a client of HTTP/1.0 says none", () => {
    expect(() => publicAddress({ protocol: "http", host: "" })).toThrow("its `Host` is missing");
  });

  // Of a list the last one counts, as of every such header.
  test.each(hostile.filter((host) => !host.includes(",")))(
    "is no host either where a proxy says so: %j",
    async (host) => {
      await using replica = await openReplica(world, { trustedProxies: ["127.0.0.1"] });
      expect((await get("/install.sh", { "x-forwarded-host": host }, replica.url)).status).toBe(400);
    },
  );

  test("is what a proxy says that the settings name, and no other one", async () => {
    const forwarded = {
      host: "inner:7070",
      "x-forwarded-host": "outer.example",
      "x-forwarded-proto": "https",
    };
    const scriptAt = async (url: string, more = {}) =>
      addressIn((await get("/install.sh", { ...forwarded, ...more }, url)).text);
    expect(await scriptAt(world.url)).toBe("'http://inner:7070'");
    await using trusting = await openReplica(world, { trustedProxies: ["127.0.0.1"] });
    expect(await scriptAt(trusting.url)).toBe("'https://outer.example'");
    await using trustsAnother = await openReplica(world, { trustedProxies: ["192.0.2.1"] });
    expect(await scriptAt(trustsAnother.url)).toBe("'http://inner:7070'");
    const odd = { ...forwarded, "x-forwarded-proto": "javascript" };
    expect((await get("/install.sh", odd, trusting.url)).status).toBe(400);
  });

  test("is one word for a shell, whatever is in it", async () => {
    for (const word of [...hostile, "a\nb", "'", "''", "'\\''", "\\"]) {
      const { stdout } = await execute("sh", ["-c", `printf '%s|' ${quoted(word)}`]);
      expect(stdout).toBe(`${word}|`);
    }
  });
});

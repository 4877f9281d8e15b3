// URLs of files that E2B's clients sign by themselves, and calls by the name of the port that the clients call in a sandbox.

import { request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { Sandbox } from "e2b-2.51";
import { beforeAll, expect, test } from "vitest";
import { buildServer } from "../src/app/server.ts";
import { readSignature, SignedFiles } from "../src/e2b/file-signatures.ts";
import { NotedTokens } from "../src/e2b/noted-tokens.ts";
import { AuthFailures } from "../src/rate-limits/auth-failures.ts";
import { createE2bSandbox, e2bOptions, nativeId } from "./support/e2b.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await Sandbox.create(e2bOptions(world));
  await sandbox.files.write("/tmp/signed ü.txt", "hello world");
});

const PATH = "/tmp/signed ü.txt";

/** Another server of the same world, which has a sandbox domain. */
async function withDomain() {
  const domain = "sandboxes.test";
  const server = await buildServer(world.contextWith({ sandboxDomain: domain }));
  await server.app.listen({ host: "127.0.0.1", port: 0 });
  world.after(() => server.stop(0));
  const { port } = server.app.server.address() as AddressInfo;
  const ask = async (ofGuest: number, id: string, path: string, headers: Record<string, string> = {}) => {
    const host = `${ofGuest}-${id}.${domain}`;
    const sent = httpRequest({ host: "127.0.0.1", port, path, headers: { host, ...headers } }).end();
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    return [response.statusCode, await text(response)] as const;
  };
  return { url: `http://127.0.0.1:${port}`, ask };
}

test("a signed URL reads one file, also one that expires, and as a user", async () => {
  for (const options of [{}, { useSignatureExpiration: 10_000 }, { user: "root" }]) {
    const answer = await fetch(await sandbox.downloadUrl(PATH, options));
    expect([answer.status, await answer.text()]).toEqual([200, "hello world"]);
  }
});

test("a signed URL takes a form whose field is no file to its client", async () => {
  const form = new FormData();
  form.append("file", "file content");
  const url = await sandbox.uploadUrl("/tmp/up.txt", { useSignatureExpiration: 100 });
  const answer = await fetch(url, { method: "POST", body: form });
  expect([answer.status, await answer.json()]).toEqual([
    200,
    [{ name: "up.txt", path: "/tmp/up.txt", type: "file" }],
  ]);
  expect(await sandbox.files.read("/tmp/up.txt")).toBe("file content");
});

test("one that has expired, was changed, or is of another method or sandbox opens nothing", async () => {
  const refusal = async (url: URL | string, method = "GET") => {
    const answer = await fetch(url, { method });
    return [answer.status, await answer.json()] as const;
  };
  const late = await sandbox.downloadUrl(PATH, { useSignatureExpiration: -10_000 });
  expect(await refusal(late)).toEqual([401, { code: 401, message: "signature is already expired" }]);
  const invalid = [401, { code: 401, message: "invalid signature" }];
  const good = await sandbox.downloadUrl(PATH);
  const changed = (name: string, value: string) => {
    const url = new URL(good);
    url.searchParams.set(name, value);
    return url;
  };
  for (const url of [
    changed("path", "/etc/shadow"),
    changed("username", "root"),
    changed("signature_expiration", "99999999999"),
    changed("signature", "v1_AAAA"),
    changed("signature", `v1_${"A".repeat(43)}`),
    changed("signature_expiration", "soon"),
  ])
    expect(await refusal(url)).toEqual(invalid);
  expect(await refusal(good, "POST")).toEqual(invalid);
  expect(await refusal(`${world.url}/files?path=/etc/passwd`)).toEqual([
    401,
    { code: 401, message: "missing signature query parameter" },
  ]);
  // In the place of another sandbox.
  const other = await createE2bSandbox(world);
  const answer = await fetch(good, { headers: { "e2b-sandbox-id": other.sandboxID } });
  expect([answer.status, await answer.json()]).toEqual(invalid);
});

test("it ends with the token whose access token it was signed with", async () => {
  const minted = await world.call<{ id: string; token: string }>("POST", "/v1/auth/tokens", { body: {} });
  const { token, id } = minted.body;
  const theirs = await Sandbox.create(e2bOptions({ url: world.url, token }));
  await theirs.files.write("/tmp/a", "a");
  const url = await theirs.downloadUrl("/tmp/a");
  expect((await fetch(url)).status).toBe(200);
  await world.call("DELETE", `/v1/auth/tokens/${id}`);
  expect((await fetch(url)).status).toBe(401);
});

const guessOf = (query: Record<string, string> = {}) => ({
  ...readSignature({
    method: "GET",
    query: { path: "/a", signature: `v1_${"A".repeat(43)}`, ...query },
  }),
  ...{ sandboxId: undefined, address: "192.0.2.1" },
});

const nothing = async () => [];

test("guesses are limited by their address, also as tokens that are none", async () => {
  const few = new SignedFiles(4, new AuthFailures(1_000), nothing);
  for (let guesses = 0; guesses < 2; guesses++)
    await expect(few.find(guessOf())).rejects.toThrow("invalid signature");
  await expect(few.find(guessOf())).rejects.toThrow("Too many signed requests");
  const failures = new AuthFailures(4);
  const files = new SignedFiles(1_000, failures, nothing);
  await expect(files.find(guessOf())).rejects.toThrow("invalid signature");
  failures.failed("192.0.2.1", "none");
  await expect(files.find(guessOf())).rejects.toThrow("Too many invalid signatures");
  expect(failures.waitS("192.0.2.1", "a token")).toBeGreaterThan(0);
});

test("a bad signature at the server makes a bad token wait", async () => {
  const limits = { ...world.context.limits, authFailuresPerMinute: 2 };
  const server = await buildServer(world.contextWith({ limits }));
  world.after(() => server.stop(0));
  const ask = async (url: string, headers = {}) => (await server.app.inject({ url, headers })).statusCode;
  const guess = `/files?path=/a&signature=v1_${"A".repeat(43)}`;
  expect([await ask(guess), await ask(guess)]).toEqual([401, 429]);
  const other = { authorization: `Bearer ${world.token.slice(0, -4)}AAAA` };
  expect(await ask("/v1/sandboxes", other)).toBe(429);
});

test("a path or a user longer than any is refused before it is looked for", () => {
  for (const query of [{ path: `/${"a".repeat(4_096)}` }, { username: "a".repeat(101) }])
    expect(() => guessOf(query)).toThrow("invalid signature");
});

test("an organization's tokens make room for its own, and not for those of a smaller one", () => {
  const noted = new NotedTokens({ perOrganization: 3, inAll: 4 });
  const note = (orgId: string, token: string) =>
    noted.note(token, { sandboxId: `sandbox of ${token}`, credentials: { secretSha256: "", orgId } });
  const tokens = (sandboxId?: string) => [...noted.of(sandboxId)].map(([token]) => token).toSorted();
  note("small", "s1");
  for (const token of ["l1", "l2", "l3", "l4", "l2", "l4"]) note("large", token);
  expect(tokens()).toEqual(["l2", "l3", "l4", "s1"]);
  note("another", "a1");
  expect(tokens()).toEqual(["a1", "l2", "l4", "s1"]);
  expect(tokens("sandbox of s1")).toEqual(["s1"]);
  expect(tokens("sandbox of l1")).toEqual([]);
});

test("by the name of its port a sandbox's calls, files and signed URLs are served, and it alone is meant", async () => {
  const { url, ask: askPort } = await withDomain();
  const ask = (id: string, path: string, headers: Record<string, string> = {}) =>
    askPort(49_983, id, path, headers);
  const one = await Sandbox.create(e2bOptions({ url, token: world.token }));
  await one.files.write(PATH, "hello world");
  const { envdAccessToken } = (
    await world.call<{ envdAccessToken: string }>("GET", `/e2b/sandboxes/${one.sandboxId}`)
  ).body;
  const token = { "x-access-token": envdAccessToken };
  expect((await ask(one.sandboxId, "/health", token))[0]).toBe(204);
  const { pathname, search } = new URL(await one.downloadUrl(PATH));
  expect(await ask(one.sandboxId, `${pathname}?path=${encodeURIComponent(PATH)}`, token)).toEqual([
    200,
    "hello world",
  ]);
  expect(await ask(one.sandboxId, pathname + search)).toEqual([200, "hello world"]);
  // Where a header names another sandbox than the name does, the name is meant.
  const other = await createE2bSandbox(world);
  const header = { "e2b-sandbox-id": one.sandboxId };
  expect((await ask(other.sandboxID, pathname + search, header))[0]).toBe(401);
  expect((await ask(other.sandboxID, "/health", { ...token, ...header }))[0]).toBe(401);
});

test("by their names ports need no token, unless the client says so or one of them is closed", async () => {
  const { url, ask } = await withDomain();
  const options = e2bOptions({ url, token: world.token });
  const one = await Sandbox.create(options);
  const closed = await Sandbox.create({ ...options, network: { allowPublicTraffic: false } });
  const plain = await Sandbox.create({ ...e2bOptions(world) });
  const status = async ({ sandboxId }: Sandbox) => (await ask(8000, sandboxId, "/"))[0];
  // Nothing listens there. What is closed is refused alike, whatever its ports are.
  expect([await status(one), await status(closed), await status(plain)]).toEqual([502, 403, 403]);
  expect((await one.getInfo()).network?.allowPublicTraffic).toBe(true);
  expect((await closed.getInfo()).network?.allowPublicTraffic).toBe(false);
  await world.call("PATCH", `/v1/sandboxes/${nativeId(one.sandboxId)}/ports/9000`, {
    body: { public: false },
  });
  expect(await status(one)).toBe(403);
});

test("it outlives the process that gave the sandbox to its client, and other processes know it", async () => {
  const url = new URL(await sandbox.downloadUrl(PATH));
  const server = await buildServer(world.context);
  world.after(() => server.stop(0));
  const fresh = await buildServer(world.contextWith({}));
  world.after(() => fresh.stop(0));
  const read = async (path: string) => (await fresh.app.inject({ url: path })).body;
  expect(await read(url.pathname + url.search)).toBe("hello world");
  // Given away after it has looked.
  const later = await Sandbox.create(e2bOptions(world));
  await later.files.write("/tmp/later", "later");
  const next = new URL(await later.downloadUrl("/tmp/later"));
  expect(await read(next.pathname + next.search)).toBe("later");
  await later.kill();
  expect((await fresh.app.inject({ url: next.pathname + next.search })).statusCode).not.toBe(200);
});

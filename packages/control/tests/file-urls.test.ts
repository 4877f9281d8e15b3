// URLs that read or write one file without a token.

import { beforeAll, beforeEach, expect, test } from "vitest";
import { useWorld } from "./support/world.ts";

const world = useWorld();
let id: string;
beforeAll(async () => {
  id = (await world.createSandbox()).id;
});
beforeEach(async () => {
  world.host.files.clear();
  await world.call("PUT", `/v1/sandboxes/${id}/files/work/a%20b`, { body: "content" });
});

interface Signed {
  readonly url: string;
  readonly expires_at: string;
}

async function sign(body: object, of = id): Promise<Signed> {
  const answer = await world.call<Signed>("POST", `/v1/sandboxes/${of}/urls`, { body });
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body;
}

async function codeOf(answer: Promise<Response>): Promise<[number, unknown]> {
  const response = await answer;
  const body = (await response.json()) as { code?: unknown };
  return [response.status, body.code];
}

test("who has the URL of a file reads it, and a browser that shows it gives it nothing of ours", async () => {
  const { url, expires_at: expiresAt } = await sign({ path: "/work/a b", expires_in: "10m" });
  expect(new URL(url).pathname).toBe(`/v1/sandboxes/${id}/files/work/a%20b`);
  expect(Date.parse(expiresAt)).toBeGreaterThan(Date.now() + 9 * 60_000);
  const response = await fetch(url);
  expect([response.status, await response.text()]).toEqual([200, "content"]);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    "content-security-policy": "sandbox allow-scripts allow-forms",
    "content-type": "application/octet-stream",
    "x-content-type-options": "nosniff",
  });
  expect(response.headers.get("set-cookie")).toBeNull();
});

test("who has the URL to write a file writes it, and reads nothing", async () => {
  const { url } = await sign({ path: "/work/new", method: "PUT" });
  const written = await fetch(url, { method: "PUT", body: "from outside" });
  expect(await written.json()).toEqual({ path: "/work/new", size: 12 });
  expect(world.host.files.get("/work/new")?.content.toString()).toBe("from outside");
  expect(await codeOf(fetch(url))).toEqual([403, "invalid_signature"]);
});

test("who writes a file by its URL gives it the permissions that were signed, and no others", async () => {
  const { url } = await sign({ path: "/work/run", method: "PUT", mode: "0755" });
  const put = (to: string) => fetch(to, { method: "PUT", body: "#!" });
  expect((await put(url)).status).toBe(200);
  expect(world.host.files.get("/work/run")?.mode).toBe(0o755);
  const { url: plain } = await sign({ path: "/work/run", method: "PUT" });
  for (const wrong of [
    url.replace("0755", "4755"),
    url.replace("mode=0755&", ""),
    `${url}&mode=0777`,
    `${plain}&mode=4755`,
    `${plain}&mode=`,
    plain.replace("/work/run", "/work/0755%20/work/run"),
  ]) {
    const [status, code] = await codeOf(put(wrong));
    expect([status, code], wrong).toEqual([403, "invalid_signature"]);
  }
  // Nothing is signed about permissions: a file that is there keeps its own, and a new one has those of any
  // new file.
  expect((await put(plain)).status).toBe(200);
  expect(world.host.files.get("/work/run")?.mode).toBe(0o755);
  const fresh = await sign({ path: "/work/fresh", method: "PUT" });
  expect((await put(fresh.url)).status).toBe(200);
  expect(world.host.files.get("/work/fresh")?.mode).toBe(0o644);
});

test("a signature is good for its method, its path, its VM and nothing else", async () => {
  const { url } = await sign({ path: "/work/a b" });
  const { id: other } = await world.createSandbox();
  const refused = [403, "invalid_signature"];
  expect(await codeOf(fetch(url, { method: "PUT", body: "x" }))).toEqual(refused);
  expect(await codeOf(fetch(url.replace("a%20b", "a")))).toEqual(refused);
  expect(await codeOf(fetch(url.replace("/work/", "/work//")))).toEqual(refused);
  expect(await codeOf(fetch(url.replace(id, other)))).toEqual(refused);
  expect(await codeOf(fetch(url.replace(id, id.replace(/.{4}$/, "0000"))))).toEqual(refused);
  expect(await codeOf(fetch(`${url}&list=true`))).toEqual(refused);
  expect(await codeOf(fetch(url.replace(/.$/, (last) => (last === "A" ? "E" : "A"))))).toEqual(refused);
  expect(await codeOf(fetch(url.replace(/\d{10}/, "9999999999")))).toEqual(refused);
  // Where the signature says nothing, a token is needed.
  for (const [method, part] of [
    ["DELETE", "files"],
    ["PATCH", "files"],
    ["GET", "stat"],
    ["PUT", "directories"],
  ] as const) {
    const [status] = await codeOf(fetch(url.replace("/files/", `/${part}/`), { method }));
    expect([400, 401], `${method} ${part}`).toContain(status);
  }
  const port = await sign({ port: 3000 });
  const ofPort = new URL(port.url).search;
  expect(await codeOf(fetch(`${world.url}/v1/sandboxes/${id}/files/work/a%20b${ofPort}`))).toEqual(refused);
  expect(world.host.files.get("/work/a b")?.content.toString()).toBe("content");
});

test("a URL that has expired is refused, also with a token beside it", async () => {
  const { url } = await sign({ path: "/work/a b", expires_in: "1s" });
  await expect.poll(async () => (await fetch(url)).status, { timeout: 10_000 }).toBe(403);
  expect(await codeOf(fetch(url))).toEqual([403, "url_expired"]);
  const headers = { authorization: `Bearer ${world.token}` };
  expect(await codeOf(fetch(url, { headers }))).toEqual([403, "url_expired"]);
});

test("nobody signs for another organization's VM, and its own URL stays good", async () => {
  const { url } = await sign({ path: "/work/a b" });
  const stranger = await world.strangerToken();
  const asked = await fetch(`${world.url}/v1/sandboxes/${id}/urls`, {
    method: "POST",
    headers: { authorization: `Bearer ${stranger}`, "content-type": "application/json" },
    body: JSON.stringify({ path: "/work/a b" }),
  });
  expect(asked.status).toBe(404);
  expect((await fetch(url)).status).toBe(200);
});

test("a URL is of one port or of one file, and of a path that can be", async () => {
  for (const body of [
    {},
    { port: 3000, path: "/a" },
    { port: 3000, method: "GET" },
    { method: "PUT" },
    { path: "a" },
    { path: "/a/../b" },
    { path: "/a", method: "DELETE" },
    { path: "/a", mode: "0755" },
    { path: "/a", method: "PUT", mode: "rwx" },
    { port: 3000, mode: "0755" },
    { path: "/\ud800" },
  ]) {
    const { status } = await world.call("POST", `/v1/sandboxes/${id}/urls`, { body });
    expect(status, JSON.stringify(body)).toBe(400);
  }
  // What says nothing is left out, so that a client which does so too has the path that was signed.
  const { url } = await sign({ path: "//work/./a b/" });
  expect(new URL(url).pathname).toBe(`/v1/sandboxes/${id}/files/work/a%20b`);
  expect((await fetch(url)).status).toBe(200);
});

test("the audit log has what was signed, and neither the host nor a log gets the signature", async () => {
  await world.call("PATCH", `/v1/orgs/${world.orgId}`, { body: { audit_details: true } });
  // As after the moment for which a token is believed.
  const me = await world.call<{ user_id: string }>("GET", "/v1/auth/me");
  world.context.tokenCache.forget(me.body.user_id);
  const { url } = await sign({ path: "/work/a b", method: "GET" });
  await fetch(url);
  const { body } = await world.call<{ items: { action: string; detail: string }[] }>(
    "GET",
    "/v1/audit?action=sandbox.url.sign&limit=1",
  );
  expect(body.items[0]).toMatchObject({
    ...{ action: "sandbox.url.sign", detail: "GET /work/a b" },
  });
  const signature = new URL(url).searchParams.get("_skerry") ?? "";
  expect(signature.length).toBeGreaterThan(40);
  expect(world.host.urls.join("\n")).not.toContain(signature);
  expect(world.host.urls.join("\n")).toContain("/file?");
  expect(JSON.stringify(world.log)).not.toContain(signature);
});

// Who may send requests to a port.

import { expect, test } from "vitest";
import { errorOf, GuestPorts } from "./support/guest-port.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
const guest = new GuestPorts(world);

test("the list has what listens and what is public", async () => {
  world.host.ports.listening = [
    { port: 3000, address: "0.0.0.0", process: "node" },
    { port: 3000, address: "::", process: "node" },
    { port: 22, address: "10.0.0.2", process: "" },
  ];
  await world.call("PATCH", `/v1/sandboxes/${guest.id}/ports/8000`, { body: { public: true } });
  const { body } = await world.call("GET", `/v1/sandboxes/${guest.id}/ports`);
  expect(body).toEqual({
    items: [
      { port: 22, public: false, listening: true, addresses: ["10.0.0.2"], process: null },
      { port: 3000, public: false, listening: true, addresses: ["0.0.0.0", "::"], process: "node" },
      { port: 8000, public: true, listening: false, addresses: [], process: null },
    ],
    truncated: false,
  });
});

test("a public port needs no token until it is closed again, and no other port does", async () => {
  const port = await guest.serve((_request, response) => response.end("for all"));
  const other = await guest.serve((_request, response) => response.end("for none"));
  const bare = (of: number) => fetch(world.url + guest.path(of));
  expect((await bare(port)).status).toBe(401);
  expect((await world.call("PATCH", guest.path(port, ""), { body: { public: true } })).body).toEqual({
    port,
    public: true,
  });
  expect(await (await bare(port)).text()).toBe("for all");
  const withOwn = await fetch(world.url + guest.path(port), {
    headers: { authorization: "Bearer of-the-guest" },
  });
  expect(withOwn.status).toBe(200);
  expect((await bare(other)).status).toBe(401);
  const unknown = guest.id.replace(/.{4}$/, "0000");
  expect((await fetch(`${world.url}/v1/sandboxes/${unknown}/ports/${port}/`)).status).toBe(401);
  await world.call("PATCH", guest.path(port, ""), { body: { public: false } });
  expect((await bare(port)).status).toBe(401);
});

test("a token of the application's own reaches it on a public port, beside a signature, and beside a token of ours", async () => {
  const port = await guest.serve(({ headers }, response) => response.end(headers.authorization));
  const own = { authorization: "Bearer of-the-app" };
  const url = await signedUrl(port);
  expect((await errorOf(await fetch(world.url + guest.path(port), { headers: own }))).status).toBe(401);
  expect(await (await fetch(url, { headers: own })).text()).toBe(own.authorization);
  const both = { ...own, "x-api-key": world.token };
  expect(await (await fetch(world.url + guest.path(port), { headers: both })).text()).toBe(own.authorization);
  const ofOurs = { authorization: `Bearer ${world.token}`, "x-api-key": "of-the-app", "x-org-id": "acme" };
  expect(await (await fetch(world.url + guest.path(port), { headers: ofOurs })).text()).toBe("");
  await world.call("PATCH", guest.path(port, ""), { body: { public: true } });
  expect(await (await fetch(world.url + guest.path(port), { headers: own })).text()).toBe(own.authorization);
  const revoked = { authorization: `Bearer sk_${"0".repeat(43)}` };
  expect((await fetch(world.url + guest.path(port), { headers: revoked })).status).toBe(401);
});

test("at most 100 ports are public", async () => {
  const { id: own } = await world.createSandbox();
  for (let port = 1; port <= 100; port += 1) {
    // oxlint-disable-next-line no-await-in-loop
    const answer = await world.call("PATCH", `/v1/sandboxes/${own}/ports/${port}`, {
      body: { public: true },
    });
    expect(answer.status).toBe(200);
  }
  const more = await world.call("PATCH", `/v1/sandboxes/${own}/ports/101`, { body: { public: true } });
  expect([more.status, more.body["code"]]).toEqual([403, "quota_exceeded"]);
  expect((await world.call("PATCH", `/v1/sandboxes/${own}/ports/7`, { body: { public: true } })).status).toBe(
    200,
  );
});

test("another organization's sandbox is not there", async () => {
  const port = await guest.serve((_request, response) => response.end("ours"));
  const answer = await guest.get(port, "/", {
    headers: { authorization: `Bearer ${await world.strangerToken()}` },
  });
  expect(await errorOf(answer)).toMatchObject({ status: 404, code: "sandbox_not_found" });
});

async function signedUrl(port: number, expires_in = "1h"): Promise<URL> {
  const answer = await world.call<{ url: string; expires_at: string }>(
    "POST",
    `/v1/sandboxes/${guest.id}/urls`,
    { body: { port, expires_in } },
  );
  expect(answer.status, answer.text).toBe(200);
  expect(answer.body.url).toMatch(`${world.url}${guest.path(port)}?_skerry=`);
  const lastsMs = Date.parse(answer.body.expires_at) - Date.now();
  expect(lastsMs).toBeGreaterThan(3_500_000);
  expect(lastsMs).toBeLessThanOrEqual(3_600_000);
  return new URL(answer.body.url);
}

test("a signed URL opens its port, every path of it, and nothing else", async () => {
  const port = await guest.serve((request, response) => response.end(request.url));
  const other = await guest.serve((_request, response) => response.end("secret"));
  const url = await signedUrl(port);
  expect(await (await fetch(url)).text()).toBe("/");
  const deep = new URL(url);
  deep.pathname += "deep/page";
  deep.searchParams.append("x", "1");
  expect(await (await fetch(deep, { method: "POST", body: "x" })).text()).toBe("/deep/page?x=1");

  const changed = (change: (copy: URL) => void): URL => {
    const copy = new URL(url);
    change(copy);
    return copy;
  };
  const signature = url.searchParams.get("_skerry") ?? "";
  const { id: sibling } = await world.createSandbox();
  const refused: readonly (readonly [what: string, url: URL])[] = [
    ["another port", changed((copy) => (copy.pathname = guest.path(other)))],
    ["another sandbox", changed((copy) => (copy.pathname = copy.pathname.replace(guest.id, sibling)))],
    ["no sandbox", changed((copy) => (copy.pathname = copy.pathname.replace(/.{4}(?=\/ports)/, "0000")))],
    ["a later expiry", changed((copy) => copy.searchParams.set("_skerry", `9${signature}`))],
    [
      "another code",
      changed((copy) =>
        copy.searchParams.set(
          "_skerry",
          signature.replace(/.$/, (c) => (c === "A" ? "E" : "A")),
        ),
      ),
    ],
    ["no code", changed((copy) => copy.searchParams.set("_skerry", signature.split(".")[0] ?? ""))],
    ["nothing", changed((copy) => copy.searchParams.set("_skerry", ""))],
  ];
  for (const [what, bad] of refused) {
    // oxlint-disable-next-line no-await-in-loop
    expect(await errorOf(await fetch(bad)), what).toMatchObject({ status: 403, code: "invalid_signature" });
  }
  // It is of a port, and not of a file.
  const files = await fetch(`${world.url}/v1/sandboxes/${guest.id}/files/etc/passwd?_skerry=${signature}`);
  expect(files.status).toBe(403);
});

test("a signed URL is over when it has expired, and ends with its sandbox", async () => {
  const { id } = await world.createSandbox();
  const sign = async (expires_in: string) =>
    (
      await world.call<{ url: string }>("POST", `/v1/sandboxes/${id}/urls`, {
        body: { port: 8080, expires_in },
      })
    ).body.url;
  const short = await sign("1ms");
  expect(await errorOf(await fetch(short))).toMatchObject({ status: 403, code: "url_expired" });
  const long = await sign("1h");
  expect(await (await fetch(long)).text()).toBe("hello");
  await world.call("DELETE", `/v1/sandboxes/${id}`);
  expect(await errorOf(await fetch(long))).toMatchObject({ status: 409, code: "sandbox_not_running" });
});

test.each([
  ["0s", 400, "invalid_duration"],
  ["169h", 422, "timeout_too_long"],
  ["soon", 400, "invalid_duration"],
])("a URL is not signed for %s", async (expires_in, status, code) => {
  const answer = await world.call("POST", `/v1/sandboxes/${guest.id}/urls`, {
    body: { port: 1, expires_in },
  });
  expect([answer.status, answer.body["code"]]).toEqual([status, code]);
});

test("another organization's sandbox gets no signed URL", async () => {
  const token = await world.strangerToken();
  const answer = await world.call("POST", `/v1/sandboxes/${guest.id}/urls`, { body: { port: 1 }, token });
  expect([answer.status, answer.body["code"]]).toEqual([404, "sandbox_not_found"]);
});

test("whose port stops being public, or whose URL expires, loses what is open", async () => {
  const port = await guest.serve((_request, response) => void response.write("begun"));
  await world.call("PATCH", guest.path(port, ""), { body: { public: true } });
  const answer = await fetch(world.url + guest.path(port));
  await world.call("PATCH", guest.path(port, ""), { body: { public: false } });
  await expect(answer.text()).rejects.toThrow();
});

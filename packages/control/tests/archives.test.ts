import { once } from "node:events";
import { request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { SkerryError } from "@skerry/contract/errors";
import { eventually, useWorld } from "./support/world.ts";

const world = useWorld();
let id: string;
beforeAll(async () => {
  id = (await world.createSandbox()).id;
});
beforeEach(() => {
  world.host.failures.clear();
  world.host.files.clear();
});

const path = (directory: string): string => `/v1/sandboxes/${id}/archives/${directory}`;

function send(method: "GET" | "PUT", directory: string, body?: RequestInit["body"]): Promise<Response> {
  const headers = { authorization: `Bearer ${world.token}` };
  return fetch(world.url + path(directory), { method, headers, ...(body === undefined ? {} : { body }) });
}

test("an archive goes up and comes back byte for byte, and no browser runs it", async () => {
  const archive = Buffer.alloc(3_000_000, "tar");
  expect((await send("PUT", "work/in%20to", archive)).status).toBe(204);
  expect(world.host.files.get("/work/in to.tar")?.size).toBe(3_000_000);
  const response = await send("GET", "work/in%20to");
  expect(response.headers.get("content-type")).toBe("application/x-tar");
  expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
  expect(Buffer.from(await response.arrayBuffer()).equals(archive)).toBe(true);
});

test("a path that climbs, and what the guest refuses, is an error that says so", async () => {
  expect((await send("PUT", "a%2F..%2Fb", "x")).status).toBe(400);
  world.host.failures.set("files", new SkerryError("archive_refused", "The VM's `tar` failed."));
  const refused = await send("PUT", "work", "no archive");
  expect([refused.status, (await refused.json()) as object]).toMatchObject([
    422,
    { code: "archive_refused" },
  ]);
  world.host.failures.set("files", new SkerryError("path_not_directory", "It is not one."));
  expect((await send("GET", "etc/hostname")).status).toBe(409);
});

test("another organization's archives are not there", async () => {
  const headers = { authorization: `Bearer ${await world.strangerToken()}` };
  for (const method of ["GET", "PUT"] as const)
    expect((await fetch(world.url + path("work"), { method, headers })).status).toBe(404);
});

test("an archive whose sender leaves is not taken for a whole one", async () => {
  world.host.urls.length = 0;
  const { port } = world.server.app.server.address() as AddressInfo;
  const headers = { authorization: `Bearer ${world.token}` };
  const request = httpRequest({ port, path: path("half"), method: "PUT", headers, agent: false });
  request.on("error", () => undefined);
  request.write(Buffer.alloc(100_000));
  await once(request, "socket");
  await eventually(() => world.host.urls.at(-1)?.includes("/archive") === true, "the host is asked");
  request.destroy();
  await eventually(
    () => world.log.some((line) => line["code"] === "canceled" || line["status"] === 499),
    "the call is over",
  );
  expect(world.host.files.has("/half.tar")).toBe(false);
});

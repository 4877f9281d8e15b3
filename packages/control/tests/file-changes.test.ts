import { beforeAll, beforeEach, expect, test } from "vitest";
import type { FileInfo } from "@skerry/contract/vms/files";
import { SkerryError } from "@skerry/contract/errors";
import { useWorld } from "./support/world.ts";

const world = useWorld();
let id: string;
beforeAll(async () => {
  id = (await world.createSandbox()).id;
});
beforeEach(() => {
  world.host.failures.clear();
  world.host.files.clear();
});

const at = (part: string, path: string): string => `/v1/sandboxes/${id}/${part}/${path}`;

async function refused(
  asked: Promise<{ status: number; body: unknown }>,
  status: number,
  code: string,
): Promise<Record<string, unknown>> {
  const answer = await asked;
  expect([answer.status, (answer.body as Record<string, unknown>)["code"]]).toEqual([status, code]);
  return answer.body as Record<string, unknown>;
}

test("what is known of a file is told, with its permissions", async () => {
  await world.call("PUT", at("files", "tmp/a%20b?mode=0600"), { body: "hello" });
  const { status, body } = await world.call<FileInfo>("GET", at("stat", "tmp/a%20b"));
  expect([status, body]).toEqual([
    200,
    expect.objectContaining({ path: "/tmp/a b", name: "a b", mode: "0600", type: "file", owner: "root" }),
  ]);
  const none = await refused(world.call("GET", at("stat", "tmp/none")), 404, "file_not_found");
  expect(none["message"]).toContain('"/tmp/none"');
});

test("a directory is made with the permissions that it is given", async () => {
  const made = await world.call<FileInfo>("PUT", at("directories", "work/new?mode=0700"));
  expect(made.body).toMatchObject({ path: "/work/new", type: "directory", mode: "0700" });
  const plain = await world.call<FileInfo>("PUT", at("directories", "work/plain"));
  expect(plain.body).toMatchObject({ mode: "0755" });
  await refused(world.call("PUT", at("directories", "work/plain?mode=rwx")), 400, "bad_request");
});

test("a file is moved, or gets other permissions, and never both or nothing", async () => {
  await world.call("PUT", at("files", "a"), { body: "x" });
  const moved = await world.call<FileInfo>("PATCH", at("files", "a"), { body: { path: "/b/c" } });
  expect([moved.status, moved.body.path]).toEqual([200, "/b/c"]);
  expect([...world.host.files.keys()]).toEqual(["/b/c"]);
  const changed = await world.call<FileInfo>("PATCH", at("files", "b/c"), { body: { mode: "755" } });
  expect(changed.body.mode).toBe("0755");
  await refused(world.call("PATCH", at("files", "b/c"), { body: {} }), 400, "bad_request");
  const both = { path: "/d", mode: "0600" };
  await refused(world.call("PATCH", at("files", "b/c"), { body: both }), 400, "bad_request");
  await refused(world.call("PATCH", at("files", "b/c"), { body: { mode: "9" } }), 400, "bad_request");
  const unknown = { body: { paht: "/d" } };
  await refused(world.call("PATCH", at("files", "b/c"), unknown), 400, "unknown_field");
});

test("a target that climbs, is not absolute or is no path is refused before any host is asked", async () => {
  await world.call("PUT", at("files", "a"), { body: "x" });
  for (const path of ["../x", "b", "", "/a/../b", "/a\0b", "/\ud800", `/${"x".repeat(4_095)}`]) {
    const answer = await world.call("PATCH", at("files", "a"), { body: { path } });
    expect([400, 413], path.slice(0, 20)).toContain(answer.status);
  }
  for (const part of ["stat", "directories"])
    for (const path of ["a%2F..%2Fb", "..%2Fb", "a%00b", "%ff"])
      await refused(world.call(part === "stat" ? "GET" : "PUT", at(part, path)), 400, "invalid_path");
  expect([...world.host.files.keys()]).toEqual(["/a"]);
});

test("what is in the way of a move is named", async () => {
  await world.call("PUT", at("files", "a"), { body: "x" });
  await world.call("PUT", at("directories", "full"));
  const asked = world.call("PATCH", at("files", "a"), { body: { path: "/full" } });
  const body = await refused(asked, 409, "directory_not_empty");
  expect(body["message"]).toContain('"/full"');
});

test("a directory is removed with what is in it only where that is said", async () => {
  await world.call("PUT", at("directories", "full"));
  await refused(world.call("DELETE", at("files", "full")), 409, "directory_not_empty");
  await world.call("PUT", at("directories", "full"));
  const { status } = await world.call("DELETE", at("files", "full?recursive=true"));
  expect(status).toBe(204);
  await refused(world.call("DELETE", at("files", "full")), 404, "file_not_found");
});

test("a list goes as deep as it is asked to, and no deeper than there is sense in", async () => {
  const { body } = await world.call("GET", at("files", "etc?list=true&depth=3&limit=1"));
  expect(body).toMatchObject({ entries: [{ name: "a" }, { name: "a", path: "3/a" }], truncated: true });
  for (const query of ["depth=0", "depth=65", "limit=0", "limit=10001", "depth=x"])
    await refused(world.call("GET", at("files", `etc?list=true&${query}`)), 400, "bad_request");
});

test("a machine has the same, and another organization has nothing of it", async () => {
  const machine = await world.call<{ id: string }>("POST", "/v1/machines", { body: { template: "base" } });
  const path = `/v1/machines/${machine.body.id}`;
  expect((await world.call("PUT", `${path}/directories/srv/data`)).status).toBe(200);
  expect((await world.call("GET", `${path}/stat/srv/data`)).body).toMatchObject({ type: "directory" });
  expect((await world.call("DELETE", `${path}/files/srv/data?recursive=true`)).status).toBe(204);
});

test("a microVM of an earlier version says that it is one", async () => {
  world.host.failures.set("files", new SkerryError("vm_outdated", "It was started by an earlier version."));
  await refused(world.call("GET", at("stat", "a")), 409, "vm_outdated");
});

test("each change leaves its event, with the path and where it went", async () => {
  await world.call("PATCH", `/v1/orgs/${world.orgId}`, { body: { audit_details: true } });
  // As after the moment for which a token is believed.
  const me = await world.call<{ user_id: string }>("GET", "/v1/auth/me");
  world.context.tokenCache.forget(me.body.user_id);
  await world.call("PUT", at("files", "old"), { body: "x" });
  await world.call("PATCH", at("files", "old"), { body: { path: "/new" } });
  await world.call("DELETE", at("files", "new"));
  const { body } = await world.call<{ items: { action: string; detail: string }[] }>(
    "GET",
    "/v1/audit?limit=2",
  );
  expect(body.items.map(({ action, detail }) => [action, detail])).toEqual([
    ["sandbox.file.remove", "/new"],
    ["sandbox.file.update", "/old → /new"],
  ]);
});

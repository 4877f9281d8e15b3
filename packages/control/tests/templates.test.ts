// Each host builds its own templates: they may differ, and what counts is the one of the host that a VM is on.

import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Limits } from "@skerry/contract/limits/limits-report";
import { restartQueue } from "../src/machines/restart-queue.ts";
import { builtTemplate } from "./support/builds.ts";
import { never, TwoHosts } from "./support/two-hosts.ts";

let two: TwoHosts;
beforeEach(async () => {
  two = await TwoHosts.open();
  // The one with most room: whatever can be placed there is.
  two.second.memoryMib = 1_000_000;
});
afterEach(() => two[Symbol.asyncDispose]());

async function diskGib(): Promise<number> {
  return (await two.world.call<Limits>("GET", "/v1/limits")).body.quotas.disk_gib.used;
}

test("a sandbox has the disk that its template has on its host", async () => {
  two.second.template = { ...two.second.template, id: "tpl_00000000000000000000000002", disk_gib: 7 };
  await two.ask();
  const { id } = await two.world.createSandbox();
  expect([two.second.vms.has(id), await diskGib()]).toEqual([true, 7]);
});

test("a template's id means the hosts that have just this one", async () => {
  two.second.template = { ...two.second.template, id: "tpl_00000000000000000000000002" };
  await two.ask();
  const { id } = await two.world.createSandbox({ template: two.first.template.id });
  expect(two.first.vms.has(id)).toBe(true);
  const other = await two.world.createSandbox({ template: two.second.template.id });
  for (const { id: template } of [two.first.template, two.second.template])
    expect((await two.world.call("GET", `/v1/templates/${template}`)).body["id"]).toBe(template);
  expect([two.second.vms.has(other.id), other.template]).toEqual([true, "base"]);
});

test("a host that is still building a template, or builds it on demand, gets no VMs of it while another one has it", async () => {
  for (const status of ["building", "on_demand", "failed"] as const) {
    two.second.template = { ...two.second.template, status };
    await two.ask();
    const { id } = await two.world.createSandbox();
    expect([two.first.vms.has(id), two.second.vms.has(id)]).toEqual([true, false]);
  }
});

test("a machine that is placed anew has the disk that its template has there", async () => {
  const { id } = await two.world.createMachine();
  expect(await diskGib()).toBe(1);
  two.second.template = { ...two.second.template, disk_gib: 7 };
  await two.ask();
  await sql`update machines set status = 'failed', reason = 'its host is offline', host_lost = true,
            restart_disk = 'disposable'`.execute(two.world.db);
  await sql`update hosts set status = 'offline' where name = 'fake'`.execute(two.world.db);
  await sql`insert into restarts (machine_id, due_at) values (${id}, now())`.execute(two.world.db);
  await restartQueue(two.world.context, 30_000).activate(never);
  expect([two.second.vms.has(id), await diskGib()]).toEqual([true, 7]);
});

test("a tag of a built-in template means the template of that version, in creates, reads and lists", async () => {
  two.second.template = { ...two.second.template, id: "tpl_00000000000000000000000003", name: "node-22" };
  await two.ask();
  const { id, template } = await two.world.createSandbox({ template: "node:22" });
  expect([two.second.vms.has(id), template]).toEqual([true, "node-22"]);
  expect((await two.world.call("GET", "/v1/templates/node:22")).body["name"]).toBe("node-22");
  for (const [asked, found] of [
    ["node:22", [id]],
    ["node:24", []],
  ] as const) {
    const { body } = await two.world.call<{ items: { id: string }[] }>(
      "GET",
      `/v1/sandboxes?template=${asked}`,
    );
    expect(body.items.map((sandbox) => sandbox.id)).toEqual(found);
  }
});

test("a tag that no built-in template has means no template", async () => {
  const { status, body } = await two.world.call("POST", "/v1/sandboxes", { body: { template: "node:7" } });
  expect([status, body["code"]]).toEqual([422, "unknown_template"]);
});

test("where an upgrade brings a built-in template of an organization's name, its own is meant by tag and by id", async () => {
  const { template_id: id } = await builtTemplate(two.world, { name: "jobs", steps: [{ run: "make" }] });
  await sql`update templates set name = 'ci' where id = ${id}`.execute(two.world.db);
  await sql`update template_tags set name = 'ci' where template_id = ${id}`.execute(two.world.db);
  two.second.template = { ...two.second.template, id: "tpl_00000000000000000000000004", name: "ci" };
  await two.ask();
  await two.world.context.hostCapacity.refreshNow();
  const meant = async (template: string) => (await two.world.createSandbox({ template })).template;
  expect(await meant("ci")).toBe("ci");
  expect(await meant("ci:latest")).toBe(id);
  expect(await meant(String(id))).toBe(id);
  expect((await two.world.call("GET", "/v1/templates/ci:latest")).body["id"]).toBe(id);
  const { body } = await two.world.call<{ items: { id: string; name: string }[] }>("GET", "/v1/templates");
  expect(body.items.filter(({ name }) => name === "ci").map((one) => one.id)).toEqual([
    two.second.template.id,
    id,
  ]);
});

// MicroVMs that belong to a resource. `Toys` stands for the rooms to come: a toy has a machine that is
// started again twice when it fails, and is then given up.

import { sql } from "kysely";
import { afterEach, expect, test } from "vitest";
import { newId } from "@skerry/contract/ids";
import type { Machine, MachineList } from "@skerry/contract/machines/machine";
import type { SandboxList } from "@skerry/contract/sandboxes/sandbox";
import type { VmOwner } from "@skerry/contract/vms/owner";
import { destroyMachine } from "../src/machines/destroy-machine.ts";
import { createOwnedMachine } from "../src/machines/owned-machines.ts";
import { ownedVms } from "../src/vms/owned.ts";
import { refused } from "./support/members.ts";
import { MachineUpkeep } from "./support/machine-upkeep.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
const upkeep = new MachineUpkeep(world);

class Toys {
  readonly wanted = new Map<string, VmOwner>();

  create(name: string): VmOwner {
    const owner = { kind: "toy", id: newId("incarnation"), name };
    this.wanted.set(owner.id, owner);
    return owner;
  }

  /** Makes what is missing, and ends what nobody wants any more. */
  async reconcile(): Promise<void> {
    const { rows } = await sql<{ id: string }>`
      select distinct owner_id as id from vms where owner_kind = 'toy' and status <> 'destroyed'`.execute(
      world.db,
    );
    for (const { id } of rows) if (!this.wanted.has(id)) await this.#end(id);
    for (const owner of this.wanted.values()) await this.#make(owner);
  }

  async #make(owner: VmOwner): Promise<void> {
    if ((await ownedVms(world.db, owner)).length > 0) return;
    const request = {
      name: `${owner.name}/web.1`,
      template: "base",
      command: "exec toy",
      restart: { policy: "on-failure", max_retries: 2 },
    } as const;
    await createOwnedMachine(world.context, { orgId: world.orgId, owner, request, service: "toys" });
  }

  async #end(id: string): Promise<void> {
    for (const vm of await ownedVms(world.db, { kind: "toy", id }))
      await destroyMachine(world.context, world, vm.id, { id });
  }
}

const toys = new Toys();

async function toyMachine(name: string): Promise<Machine> {
  const owner = toys.create(name);
  await toys.reconcile();
  const [vm] = await ownedVms(world.db, owner);
  return (await world.call<Machine>("GET", `/v1/machines/${vm?.id}`)).body;
}

async function ownedSandbox(name: string): Promise<string> {
  const { id } = await world.createSandbox({ mode: "persistent" });
  await sql`update vms set owner_kind = 'toy', owner_id = ${`toy_${name}`}, owner_name = ${name} where id = ${id}`.execute(
    world.db,
  );
  return id;
}

afterEach(async () => {
  toys.wanted.clear();
  await sql`delete from vms`.execute(world.db);
  world.host.vms.clear();
  world.host.disks.clear();
});

const idsOf = ({ items }: { readonly items: readonly { readonly id: string }[] }) =>
  items.map(({ id }) => id);

test("a resource makes its machine once, in its own name", async () => {
  const machine = await toyMachine("duck");
  await toys.reconcile();
  const owner = [...toys.wanted.values()].find(({ name }) => name === "duck");
  expect(machine).toMatchObject({ name: "duck/web.1", status: "running", owner });
  expect(await ownedVms(world.db, owner as VmOwner)).toEqual([
    { id: machine.id, kind: "machine", status: "running" },
  ]);
  const { rows } = await sql`
    select service, resource_id from audit_events where action = 'machine.create' and resource_id = ${machine.id}`.execute(
    world.db,
  );
  expect(rows).toEqual([{ service: "toys", resource_id: machine.id }]);
});

test("names of owned VMs are free of the organization's names", async () => {
  const { name } = await toyMachine("bear");
  const mine = await world.call<Machine>("POST", "/v1/machines", { body: { template: "base", name } });
  expect(mine.status).toBe(201);
  expect(mine.body.owner).toBeNull();
  const found = await world.call<Machine>("GET", `/v1/machines/${encodeURIComponent(name ?? "")}`);
  expect(found.body.id).toBe(mine.body.id);
});

test("a list shows what has no owner, what a kind of resource has, and what one has", async () => {
  const duck = await toyMachine("horse");
  const plain = await world.createMachine();
  const list = async (owner: string) =>
    idsOf((await world.call<MachineList>("GET", `/v1/machines?owner=${encodeURIComponent(owner)}`)).body);
  expect(await list("none")).toContain(plain.id);
  expect(await list("none")).not.toContain(duck.id);
  expect(await list("toy")).toContain(duck.id);
  expect(await list("toy")).not.toContain(plain.id);
  expect(await list("toy:horse")).toEqual([duck.id]);
  expect(await list(`toy:${duck.owner?.id}`)).toEqual([duck.id]);
  expect(await list("app:horse")).toEqual([]);
  expect(await list("any")).toEqual(expect.arrayContaining([plain.id, duck.id]));
  const all = await world.call<MachineList>("GET", "/v1/machines?counts=true&owner=toy%3Ahorse");
  expect(all.body.counts).toMatchObject({ running: 1 });
  expect(refused(await world.call("GET", "/v1/machines?owner=Toy"))).toEqual([400, "bad_request"]);
});

test.each([
  ["DELETE", "", undefined],
  ["PATCH", "", { name: "mine" }],
  ["POST", "/start", {}],
  ["POST", "/stop", {}],
  ["POST", "/restart", {}],
  ["POST", "/rollback", { snapshot: "snp_none" }],
  ["PUT", "/egress", { mode: "allow_all" }],
  ["PATCH", "/ports/80", { public: true }],
] as const)("%s %s does not take a machine from its owner", async (method, path, body) => {
  const { id, owner } = await toyMachine(`kept${path.replaceAll("/", "-")}-${method}`);
  const answer = await world.call(method, `/v1/machines/${id}${path}`, { body });
  expect(refused(answer)).toEqual([409, "owned"]);
  expect(answer.text).toContain(`belongs to the toy \\"${owner?.name}\\"`);
  expect((await world.call<Machine>("GET", `/v1/machines/${id}`)).body).toMatchObject({
    status: "running",
    desired: "running",
  });
});

test.each([
  ["DELETE", "", undefined],
  ["PATCH", "", { name: "mine" }],
  ["POST", "/pause", {}],
  ["POST", "/keepalive", {}],
  ["POST", "/rollback", { snapshot: "snp_none" }],
  ["PUT", "/egress", { mode: "allow_all" }],
  ["PATCH", "/ports/80", { public: true }],
] as const)("%s %s does not take a sandbox from its owner", async (method, path, body) => {
  const id = await ownedSandbox("ball");
  expect(refused(await world.call(method, `/v1/sandboxes/${id}${path}`, { body }))).toEqual([409, "owned"]);
});

test("clients of E2B see no owned sandbox in their lists, and cannot end one", async () => {
  const id = await ownedSandbox("kite");
  const listed = await world.call<{ sandboxID: string }[]>("GET", "/e2b/v2/sandboxes");
  expect(listed.status).toBe(200);
  expect(listed.body.map(({ sandboxID }) => `sbx_${sandboxID}`)).not.toContain(id);
  const { status } = await world.call("DELETE", `/e2b/sandboxes/${id.slice(4)}`);
  expect(status).toBe(409);
  const native = await world.call<SandboxList>("GET", "/v1/sandboxes?owner=toy%3Akite");
  expect(native.body.items).toMatchObject([{ id, status: "running" }]);
});

test("whoever may execute in a VM may do so in an owned one", async () => {
  const { id } = await toyMachine("drum");
  const ran = await world.call("POST", `/v1/machines/${id}/execute`, { body: { command: "true" } });
  expect(ran.status).toBe(200);
});

test("an owned machine that fails is started again as its owner asked for, and then given up", async () => {
  const { id } = await toyMachine("top");
  for (const restarts of [0, 1, 2]) {
    expect(await upkeep.get(id)).toMatchObject({ status: "running", restarts });
    world.host.end(id, null, { cause: "main_exited", exit: { exit_code: 1, signal: 0, oom_killed: false } });
    await upkeep.cleanUp();
    await upkeep.allDue();
    await upkeep.startWaiting();
  }
  await toys.reconcile();
  expect(await status(id)).toBe("failed");
});

test("what belonged to a resource that is gone is ended", async () => {
  const { id, owner } = await toyMachine("rocket");
  toys.wanted.delete(owner?.id ?? "");
  await toys.reconcile();
  expect(await status(id)).toBe("destroyed");
  expect(world.host.vms.has(id)).toBe(false);
});

async function status(id: string): Promise<string> {
  return (await world.call<Machine>("GET", `/v1/machines/${id}`)).body.status;
}

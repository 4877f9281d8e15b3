// kill -9 of a control process, of a host and of a microVM in each state of a build: it ends ready, or failed for a reason that is named, nothing of it is
// left, and the next build works. That layers which are stored or copied meanwhile outlive it too is in object-store.test.ts and template-copies.test.ts.

import { sql } from "kysely";
import { afterEach, expect, test } from "vitest";
import { SkerryError, type ErrorCode } from "@skerry/contract/errors";
import { vmReconciler } from "../src/platform/vm-reconciler.ts";
import { activateBuilder, buildNow, builtTemplate, newBuild } from "./support/builds.ts";
import { eventually, useWorld } from "./support/world.ts";

const world = useWorld();

afterEach(async () => {
  world.host.failures.clear();
  world.host.templates.before = async () => undefined;
  world.host.beforeStart = async () => undefined;
  world.host.templates.kept.clear();
  await sql`delete from template_tags`.execute(world.db);
  await sql`delete from template_frozen`.execute(world.db);
  await sql`delete from template_hosts`.execute(world.db);
  await sql`delete from templates`.execute(world.db);
  await sql`delete from builds`.execute(world.db);
  world.host.vms.clear();
});

const states = ["queued", "building", "sealing", "freezing"] as const;
type State = (typeof states)[number];

interface Struck {
  readonly id: string;
  readonly state: State;
  /** Aborts with the process. */
  readonly control: AbortController;
}

interface Death {
  readonly victim: string;
  /** Strikes while the host carries out what the state asks of it. Throws where the host does not get to doing it. */
  readonly strike: (struck: Struck) => Promise<void>;
  /** Why the build fails; absent: it becomes ready. */
  readonly ends: { readonly [S in State]?: ErrorCode };
}

const away = new SkerryError("host_unavailable", "The connection was lost.");

async function killHost(): Promise<void> {
  const ended = world.host.stop();
  if (world.host.executions.all.size > 0) world.host.executions.last.cut();
  await ended;
}

const deaths: readonly Death[] = [
  {
    victim: "control, whose call the host carries out,",
    strike: async ({ control }) => control.abort(),
    ends: {},
  },
  {
    victim: "control, whose call has not reached the host,",
    strike: async ({ control }) => {
      control.abort();
      throw away;
    },
    ends: {},
  },
  { victim: "the host, which has done it,", strike: killHost, ends: {} },
  {
    victim: "the host, which has not done it,",
    strike: async () => {
      await killHost();
      throw away;
    },
    ends: {},
  },
  {
    victim: "the machine of the host, with all that runs on it,",
    strike: async () => {
      await killHost();
      world.host.vms.clear();
      throw away;
    },
    // What is sealed is on its disk.
    ends: { building: "vm_not_found", sealing: "vm_not_found" },
  },
  {
    victim: "its microVM",
    strike: async ({ id, state }) => {
      world.host.end(id, "killed by signal 9");
      // Nothing more is asked of it then.
      if (state === "freezing") return;
      throw new SkerryError("guest_failed", "The microVM has ended.");
    },
    ends: { queued: "guest_failed", building: "guest_failed", sealing: "guest_failed" },
  },
];

/** Where each state is struck: in what it asks of the host. Returns whether that has been. */
function strikeIn(state: State, strike: () => Promise<void>): () => boolean {
  let struck = false;
  const once = async (): Promise<void> => {
    if (struck) return;
    struck = true;
    await strike();
  };
  if (state === "queued") world.host.beforeStart = once;
  if (state === "building") strikeInStep(once);
  const calls: { readonly [S in State]?: string } = { sealing: "seal", freezing: "freeze" };
  world.host.templates.before = async (asked) => {
    if (asked === calls[state]) await once();
  };
  return () => struck;
}

/** While the output of the step that is carried out is followed. */
function strikeInStep(strike: () => Promise<void>): void {
  const { executions } = world.host;
  void (async () => {
    await eventually(
      () => world.host.calls.some((one) => one.startsWith("GET /vms/bld_") && one.endsWith("/output")),
      "the step is followed",
    );
    const { last } = executions;
    last.write("half of it\n");
    await strike().catch((error: unknown) => {
      if (error instanceof SkerryError && error.code === "guest_failed") last.breaks = error;
    });
    last.end();
  })();
}

async function left(): Promise<Record<string, unknown>> {
  const { rows } = await sql<Record<string, unknown>>`
    select
      (select coalesce(sum(memory_mib), 0)::integer from capacity_entries where account like 'hst_%') as memory_mib,
      (select count(*)::integer from builds where execution_id is not null or finished_at is null) as under_way,
      (select count(*)::integer from template_copies) as copies,
      (select count(*)::integer from template_hosts h join templates t on t.id = h.template_id) as places`.execute(
    world.db,
  );
  const { vms, templates } = world.host;
  return { ...rows[0], vms: [...vms.keys()], templates: templates.kept.size };
}

for (const { victim, strike, ends } of deaths)
  test.each(states)(`${victim} dies while a build is %s`, async (state) => {
    const control = new AbortController();
    world.host.calls.length = 0;
    const { id } = await newBuild(world, { steps: [{ run: state === "building" ? "forever" : "make" }] });
    const struck = strikeIn(state, () => strike({ id, state, control }));
    await activateBuilder(world, control.signal);
    expect(struck()).toBe(true);
    // The supervisor of the host starts both again.
    await world.host.stop();
    await world.host.start();
    await sql`update builds set retry_at = now()`.execute(world.db);
    await activateBuilder(world);
    const code = ends[state];
    const build = await buildNow(world, id);
    if (code === undefined) expect(build).toMatchObject({ status: "ready", error: null });
    else expect(build).toMatchObject({ status: "failed", error: { code }, template_id: null });
    await vmReconciler(world.context, 1_000).activate(new AbortController().signal);
    const made = code === undefined ? 1 : 0;
    expect(await left()).toEqual({
      ...{ memory_mib: 0, under_way: 0, copies: 0, places: made },
      ...{ vms: [], templates: made },
    });
    expect((await builtTemplate(world, { tag: "next", steps: [{ run: "next" }] })).status).toBe("ready");
    expect(await left()).toMatchObject({ vms: [], memory_mib: 0, places: made + 1 });
  });

// Rows of tables whose rows are over are kept by a rule.

import { sql, type RawBuilder } from "kysely";
import { builtTemplate } from "./builds.ts";
import type { World } from "./world.ts";

interface Ending {
  /** Which rows are over. */
  readonly isOver: RawBuilder<unknown>;
  readonly since: string;
  /** The column that no two rows have the same in; default: `id`. */
  readonly own?: string;
}

/** By table: makes a row that is over. */
export function endingsIn(world: World): Readonly<Record<string, () => Promise<Ending>>> {
  return {
    sandboxes: async () => {
      const { id } = await world.createSandbox();
      await world.call("DELETE", `/v1/sandboxes/${id}`);
      return { isOver: sql`status = 'destroyed'`, since: "destroyed_at" };
    },
    kept_executions: async () => {
      const { id } = await world.createSandbox();
      const body = { command: "true", keep_output: true };
      await world.call("POST", `/v1/sandboxes/${id}/executions`, { body });
      await world.call("DELETE", `/v1/sandboxes/${id}`);
      return { isOver: sql`ended_at is not null`, since: "ended_at" };
    },
    machines: async () => {
      const { id } = await world.createMachine();
      await world.call("DELETE", `/v1/machines/${id}`);
      return { isOver: sql`status = 'destroyed'`, since: "destroyed_at" };
    },
    snapshots: async () => {
      const { id } = await world.createSandbox();
      const taken = await world.call<{ id: string }>("POST", `/v1/sandboxes/${id}/snapshots`, { body: {} });
      await world.call("DELETE", `/v1/snapshots/${taken.body.id}`);
      return { isOver: sql`status = 'deleted'`, since: "deleted_at" };
    },
    templates: async () => {
      await builtTemplate(world);
      for (const part of ["template_hosts", "template_tags", "template_frozen"])
        await sql`delete from ${sql.table(part)}`.execute(world.db);
      await sql`update templates set status = 'deleted', deleted_at = now()`.execute(world.db);
      return { isOver: sql`status = 'deleted'`, since: "deleted_at" };
    },
    builds: async () => {
      await builtTemplate(world);
      return { isOver: sql`finished_at is not null`, since: "finished_at" };
    },
    e2b_builds: async () => {
      await sql`insert into e2b_builds (id, org_id, name, tags, body) values ('bld_1', ${world.orgId}, 'x', '[]', '{}')`.execute(
        world.db,
      );
      return { isOver: sql`true`, since: "created_at" };
    },
    app_changes: async () => {
      await world.call("POST", "/v1/apps", { body: { name: "gone" } });
      await sql`delete from apps`.execute(world.db);
      return { isOver: sql`gone_at is not null`, since: "gone_at" };
    },
    api_tokens: async () => {
      const minted = await world.call<{ id: string }>("POST", "/v1/auth/tokens", { body: {} });
      await world.call("DELETE", `/v1/auth/tokens/${minted.body.id}`);
      return { isOver: sql`revoked_at is not null`, since: "revoked_at" };
    },
    idempotency_keys: async () => {
      await world.call("POST", "/v1/auth/tokens", { body: {}, headers: { "idempotency-key": "one" } });
      return { isOver: sql`true`, since: "created_at", own: "key" };
    },
  };
}

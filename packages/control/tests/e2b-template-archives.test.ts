// Archives of files that wait for the builds of E2B's clients: how many there may be, and for how long.

import { hash as digest } from "node:crypto";
import { sql } from "kysely";
import { describe, expect, test } from "vitest";
import { expiredRowsSweeper } from "../src/platform/expired-rows-sweeper.ts";
import { archiveName } from "../src/e2b/template-archives.ts";
import { addChunk } from "../src/e2b/template-store.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
const sha256 = (text: string) => digest("sha256", text);

describe("archives", () => {
  const hash = "ef".repeat(32);
  const name = () =>
    archiveName({ credentials: { secretSha256: sha256(world.token), orgId: world.orgId }, hash });
  const link = async () =>
    (await world.call<{ present: boolean; url: string }>("GET", `/e2b/templates/any/files/${hash}`)).body;
  const send = async (body: string) => (await fetch((await link()).url, { method: "PUT", body })).status;
  const held = async () => {
    const { rows } = await sql<{ bytes: number }>`
      select coalesce(sum(length(content)), 0)::integer as bytes from e2b_archive_chunks c
      where not exists (select from e2b_archives a where a.upload = c.upload and a.hash <> ${name()})`.execute(
      world.db,
    );
    return rows[0]?.bytes;
  };
  const aged = () =>
    sql`update e2b_archives set created_at = now() - interval '59 minutes'`.execute(world.db);
  const late = async () => {
    await sql`update e2b_archives set created_at = created_at - interval '2 minutes'`.execute(world.db);
    await sql`update e2b_archive_chunks set created_at = created_at - interval '2 hours'`.execute(world.db);
    await expiredRowsSweeper(world.context, 1_000).activate(new AbortController().signal);
  };

  test("that come at once have no more room together than one after the other", async () => {
    const content = Buffer.alloc(1_000);
    const { orgId } = world;
    const { rows } = await sql<{ bytes: number }>`
      select coalesce(sum(length(content)), 0)::integer as bytes from e2b_archive_chunks`.execute(world.db);
    const before = rows[0]?.bytes ?? 0;
    const added = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        addChunk(world.db, { orgId, upload: `at once ${index}`, index, content }, before + 3_000),
      ),
    );
    expect(added.filter(Boolean)).toHaveLength(3);
    await sql`delete from e2b_archive_chunks where upload like 'at once %'`.execute(world.db);
  });

  test("take the place of an earlier one, and none is empty", async () => {
    expect(await send("first")).toBe(200);
    expect(await send("second")).toBe(200);
    expect(await held()).toBe("second".length);
    expect(await send("")).toBe(400);
    expect(await held()).toBe("second".length);
    expect((await link()).present).toBe(true);
  });

  test("are there for the token alone that has sent them", async () => {
    expect(await send("mine")).toBe(200);
    const other = await world.call<{ token: string }>("POST", "/v1/auth/tokens", { body: {} });
    const linkOf = async (token: string) =>
      (
        await world.call<{ present: boolean; url: string }>("GET", `/e2b/templates/any/files/${hash}`, {
          token,
        })
      ).body;
    const { present, url } = await linkOf(other.body.token);
    expect(present).toBe(false);
    expect((await fetch(url, { method: "PUT", body: "another's" })).status).toBe(200);
    expect(await held()).toBe("mine".length);
    expect((await linkOf(other.body.token)).present).toBe(true);
    await sql`delete from e2b_archives where hash <> ${name()}`.execute(world.db);
  });

  test("that are asked for stay, and others go without being asked for", async () => {
    await send("kept");
    await aged();
    expect((await link()).present).toBe(true);
    await late();
    expect(await held()).toBe("kept".length);
    await aged();
    await late();
    expect(await held()).toBe(0);
  });

  test("are few at once", async () => {
    const { openArchives } = world.context;
    const take = () => openArchives.take(world, { kind: { noun: "archive" }, id: hash });
    const open = [take(), take()];
    expect(await send("one more")).toBe(429);
    for (const one of open) one[Symbol.dispose]();
    expect(await send("one more")).toBe(200);
  });
});

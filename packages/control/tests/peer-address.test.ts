// Where one host reaches another one, to which it sends a VM.

import { sql } from "kysely";
import { expect, test } from "vitest";
import { securedAddress } from "../src/host-client/host-directory.ts";
import { peerAddress } from "../src/hosts/peer-address.ts";
import { JoiningHost, newJoinToken } from "./support/joining-host.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();

test("hosts reach each other over the network, and the one beside control only where it listens", async () => {
  const host = await JoiningHost.open(world);
  const { body } = await host.confirm(await host.join(await newJoinToken(world)));
  const { id: local } = await world.db
    .selectFrom("hosts")
    .select("id")
    .where("joined", "=", false)
    .executeTakeFirstOrThrow();
  const joined = body.host_id;
  const reach = (from: string, to: string) => peerAddress(world.db, from, to);
  expect(await reach(local, joined)).toBe(securedAddress(joined, host.address));
  expect(await reach(local, local)).toBe(`unix:${world.host.socketPath}`);
  expect(await reach(joined, local)).toBeUndefined();
  await sql`update hosts set facts = facts || '{"endpoint": "192.0.2.1:7071"}' where id = ${local}`.execute(
    world.db,
  );
  expect(await reach(joined, local)).toBe(securedAddress(local, "192.0.2.1:7071"));
  await world.call("DELETE", `/v1/hosts/${joined}`);
  expect(await reach(local, joined)).toBeUndefined();
  expect(await reach(joined, local)).toBeUndefined();
});

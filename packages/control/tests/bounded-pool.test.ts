import pg from "pg";
import { expect, test } from "vitest";
import { poolWithDeadline } from "../src/db/pool-with-deadline.ts";
import { PausableProxy } from "./support/pausable-proxy.ts";
import { World } from "./support/world.ts";

const DEADLINE_MS = 1_000;

test("an answer that came in time counts, also where the loop reads it after the deadline", async () => {
  await using world = await World.open();
  const pool = new pg.Pool({ connectionString: world.databaseUrl });
  const connection = await poolWithDeadline(pool, DEADLINE_MS).connect();
  await connection.query("select 1", []);
  const answer = connection.query("select 2 as two", []);
  // After the query has been written.
  await new Promise((resolve) => setImmediate(resolve));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * DEADLINE_MS);
  expect((await answer).rows).toEqual([{ two: 2 }]);
  connection.release();
  await pool.end();
});

test("a database that does not answer within the deadline loses its connection", async () => {
  await using world = await World.open();
  await using proxy = await PausableProxy.open(world.databaseUrl);
  const pool = new pg.Pool({ connectionString: proxy.databaseUrl });
  pool.on("connect", (client) => client.on("error", () => undefined));
  const connection = await poolWithDeadline(pool, DEADLINE_MS).connect();
  proxy.pause("silent");
  await expect(connection.query("select 1", [])).rejects.toThrow("Connection terminated");
  connection.release(true);
  proxy.pause("closed");
  await pool.end();
});

// A process that takes a lease and writes under it. A test stops it in the middle of a transaction, lets another one take over, and hears
// what becomes of the rest. Arguments: URL of the database, name of the lease.

import { once } from "node:events";
import { sql } from "kysely";
import { Leases } from "../../src/background/lease.ts";
import { fencedDatabase, openDatabase } from "../../src/db/database.ts";
import type { Fence } from "../../src/db/fence.ts";

const [, , url = "", name = ""] = process.argv;
const db = openDatabase(url, () => undefined);
const fence: Fence = { held: undefined };
const fenced = fencedDatabase(db, fence);
const tell = (text: string) => process.stdout.write(`${text}\n`);

const lease = await new Leases(db, "stopped").take(name, fence, new AbortController().signal);
if ("waitMs" in lease) throw new Error("the lease is not free");
const outcome = await fenced
  .transaction()
  .execute(async (transaction) => {
    await sql`insert into users (id, name) values ('usr_1', 'of the transaction')`.execute(transaction);
    // Before anybody hears that it may be stopped.
    const goesOn = once(process, "SIGUSR1");
    tell("writing");
    await goesOn;
    await sql`insert into users (id, name) values ('usr_2', 'of the transaction')`.execute(transaction);
  })
  .then(
    () => "written",
    () => "refused",
  );
tell(`transaction ${outcome}`);
const after = await sql`insert into users (id, name) values ('usr_3', 'of one statement')`
  .execute(fenced)
  .then(
    () => "written",
    (error: unknown) => String(error),
  );
tell(`statement ${after}`);
lease[Symbol.dispose]();
await db.destroy();

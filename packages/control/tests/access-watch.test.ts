// The watch over requests that last, and an event loop that stands still. That it ends requests in time, where the database is away too,
// is in revocation.test.ts.

import { createHash } from "node:crypto";
import { setImmediate as loopTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import type { SkerryError } from "@skerry/contract/errors";
import { AccessWatch } from "../src/auth/access-watch.ts";
import { TokenCache, REVOCATION_MAX_MS } from "../src/auth/token-cache.ts";
import { openDatabase } from "../src/db/database.ts";
import { PausableProxy } from "./support/pausable-proxy.ts";
import { eventually, useWorld } from "./support/world.ts";

const world = useWorld();

/** A request under a watch of its own. */
function watched(tokenCache = new TokenCache(world.db)) {
  const secretSha256 = createHash("sha256").update(world.token).digest("hex");
  const seen: { checks: number; ended: SkerryError | undefined } = { checks: 0, ended: undefined };
  const entry = new AccessWatch(tokenCache).add({
    credentials: { secretSha256, orgId: undefined },
    check: () => (seen.checks += 1),
    end: (reason) => (seen.ended = reason),
  });
  return Object.assign(seen, { [Symbol.dispose]: () => entry[Symbol.dispose]() });
}

/** Nothing of this process runs meanwhile. */
function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

test("a loop that stands still for longer than a revocation may take ends no request", async () => {
  using request = watched();
  await eventually(() => request.checks >= 1, "it is checked");
  for (let round = 1; round <= 2; round += 1) {
    const before = request.checks;
    standStill(REVOCATION_MAX_MS + 500);
    await eventually(
      () => request.ended !== undefined || request.checks >= before + 6,
      "it is checked again",
    );
    expect(request.ended).toBeUndefined();
  }
});

test("nor does a loop that is slow at every turn", async () => {
  using request = watched();
  await eventually(() => request.checks >= 1, "it is checked");
  for (let turn = 0; turn < 8; turn += 1) {
    standStill(1_200);
    await loopTurn();
  }
  const before = request.checks;
  await eventually(() => request.ended !== undefined || request.checks >= before + 6, "it is checked again");
  expect(request.ended).toBeUndefined();
});

test("a database that does not answer ends it, also after the loop stood still", async () => {
  await using proxy = await PausableProxy.open(world.databaseUrl);
  const db = openDatabase(proxy.databaseUrl, () => undefined);
  using request = watched(new TokenCache(db));
  await eventually(() => request.checks >= 1, "it is checked");
  proxy.pause("silent");
  standStill(REVOCATION_MAX_MS);
  await eventually(() => request.ended !== undefined, "it is ended");
  expect(request.ended?.code).toBe("database_unavailable");
  proxy.pause("closed");
  await db.destroy();
});

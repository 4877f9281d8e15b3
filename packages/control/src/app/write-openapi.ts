// Writes openapi.json, which is committed: what changes in the API shows in a review. `--check` only says whether it is current.

import { readFile, writeFile } from "node:fs/promises";
import { pino } from "pino";
import { limitDefaults } from "@skerry/contract/limits/quotas";
import { HostDirectory } from "../host-client/host-directory.ts";
import { buildServer } from "./server.ts";
import { Metrics } from "../metrics/metrics.ts";
import { AccessWatch } from "../auth/access-watch.ts";
import { CertificateAuthority } from "../joining/certificate-authority.ts";
import { TokenCache } from "../auth/token-cache.ts";
import { HostCapacity } from "../capacity/host-capacity.ts";
import { VmLocations } from "../vms/vm-locations.ts";
import { openDatabase } from "../db/database.ts";

const target = new URL("../../openapi.json", import.meta.url);

// Neither is ever asked: the document comes from the routes alone.
const db = openDatabase("postgresql:///unused", () => undefined);
const tokenCache = new TokenCache(db);
const authority = new CertificateAuthority(db);
const { app } = await buildServer({
  db,
  tokenCache,
  watch: new AccessWatch(tokenCache),
  hostCapacity: new HostCapacity(db),
  vmLocations: new VmLocations(),
  authority,
  hosts: new HostDirectory(() => authority.credentials()),
  log: pino({ level: "silent" }),
  metrics: new Metrics(),
  limits: { organization: limitDefaults, authFailuresPerMinute: 1, vcpusPerCpu: 1 },
  wake: () => undefined,
});
const text = `${JSON.stringify(app.swagger(), undefined, 2)}\n`;
await app.close();
await db.destroy();

if (!process.argv.includes("--check")) {
  await writeFile(target, text);
} else if ((await readFile(target, "utf8").catch(() => "")) !== text) {
  process.stderr.write(
    "packages/control/openapi.json is not current: run node packages/control/src/app/write-openapi.ts\n",
  );
  process.exitCode = 1;
}

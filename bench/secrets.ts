// Secrets in an environment: a create with as many as most have at all, in turns with one without.

import { randomBytes } from "node:crypto";
import { expectSuccess, type Bench } from "./bench.ts";
import { poolAtRest } from "./pool.ts";
import type { Measure } from "./results.ts";
import { Redactor } from "@skerry/contract/secrets/redactor";
import { range, Series } from "./series.ts";

const SECRETS = 20;

export async function measureSecrets({ platform, scale }: Bench): Promise<Measure[]> {
  const { client } = platform;
  const names = range(SECRETS).map((at) => `BENCH_${at}`);
  for (const name of names) await client.secrets.set(name, { value: "x".repeat(64) });
  const ms = (what: string, bar = "–") => new Series({ what, unit: "ms", bar });
  const plain = { created: ms("create without secrets"), answered: ms("… then `true` answered") };
  const given = {
    created: ms(`create with ${SECRETS} secrets`),
    answered: ms("… and with secrets, then `true` answered"),
  };
  const more = ms(`create with ${SECRETS} secrets, more than the one without in its turn`, "median ≤ 1");
  const once = async ({ created, answered }: typeof plain, secrets: { name: string }[]) => {
    await poolAtRest(platform);
    const startedMs = performance.now();
    const sandbox = await client.sandboxes.create({ template: "base", secrets });
    const tookMs = performance.now() - startedMs;
    created.add(tookMs);
    await expectSuccess(sandbox);
    answered.add(performance.now() - startedMs);
    await sandbox.destroy();
    return tookMs;
  };
  for (const round of range(scale.lifeRounds)) {
    // Each is the first in half of the turns.
    const turn = [
      () => once(plain, []),
      () =>
        once(
          given,
          names.map((name) => ({ name })),
        ),
    ] as const;
    const second = round % 2 === 0 ? 1 : 0;
    const first = await turn[second === 1 ? 0 : 1]();
    const difference = (await turn[second]()) - first;
    more.add(second === 1 ? difference : -difference);
  }
  for (const name of names) await client.secrets.delete(name);
  const redacted = new Series({
    what: "redaction of a log, 20 secrets, one core",
    unit: "MB/s",
    bar: "median ≥ 100",
  });
  for (const _ of range(scale.bulkRounds)) redacted.add(redactionRate());
  return [plain.created, plain.answered, given.created, given.answered, more, redacted].map(
    ({ measure }) => measure,
  );
}

/** MB of lines as an installation of packages prints them, in a second. */
function redactionRate(): number {
  const redactor = new Redactor(range(SECRETS).map(() => randomBytes(24).toString("base64url")));
  const lines = range(200_000).map(
    (at) => `npm http fetch GET 200 https://registry.example/package-${at} 12ms`,
  );
  const startedMs = performance.now();
  for (const line of lines) redactor.redact(line);
  const tookS = (performance.now() - startedMs) / 1_000;
  return lines.reduce((sum, { length }) => sum + length, 0) / 1e6 / tookS;
}

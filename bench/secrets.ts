// Secrets in an environment: a create with as many as most have at all, in turns with one without.

import { expectSuccess, type Bench } from "./bench.ts";
import { poolAtRest } from "./pool.ts";
import type { Measure } from "./results.ts";
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
  return [plain.created, plain.answered, given.created, given.answered, more].map(({ measure }) => measure);
}

// What the context holds, once it has come: computed in the builder, before any step, from the bytes that the steps will read. What the request
// said of it has chosen which steps are skipped, so it has to be right about what those have read.

import { digestCommand, readDigests } from "@skerry/build-plan/plan/context-digest";
import type { ContextDigests } from "@skerry/build-plan/plan/step-key";
import { SkerryError } from "@skerry/contract/errors";
import type { Database } from "../db/database.ts";
import type { HostClient } from "../host-client/host-client.ts";
import type { BuildRow, StepRow } from "./build-store.ts";
import { keysOf } from "./cached-prefix.ts";
import { noteStepKeys } from "./step-store.ts";

/** Longer than a context of the largest size takes. Without digests the steps are carried out, and their results are not cached. */
const DIGEST_WITHIN_MS = 300_000;
const OUTPUT_MAX_BYTES = 64 * 1024;

interface Keyed {
  readonly row: BuildRow & { readonly execution_id: string };
  readonly steps: readonly StepRow[];
  readonly client: HostClient;
  readonly stop: AbortSignal;
}

/** The keys of all steps. Throws `context_mismatch` where a step was skipped for files that the context does not have. */
export async function keySteps(
  db: Database,
  { row, steps, client, stop }: Keyed,
): Promise<(string | null)[]> {
  const known = steps.map(({ key }) => key);
  const inputs = [...new Set(steps.flatMap((step) => step.inputs))];
  // An image is pulled before the context has come, where it is pulled in a microVM of its own.
  const isBegun = steps.some(
    ({ status, cache_hit, kind }) => status !== "waiting" && !cache_hit && kind !== "image",
  );
  const isCloned = steps.some(({ kind }) => kind === "git");
  if (isBegun || isCloned || inputs.length === 0) return known;
  const digests = await digestsOf({ row, client, stop }, inputs);
  const keys = keysOf(steps, row.parent_key, digests);
  const wrong = steps.find(({ cache_hit, key }, index) => cache_hit && key !== keys[index]);
  if (wrong !== undefined) throw mismatch(wrong, row, digests);
  await noteStepKeys(db, row.id, keys);
  return keys;
}

async function digestsOf(
  { row, client, stop }: Omit<Keyed, "steps">,
  inputs: readonly string[],
): Promise<ContextDigests> {
  const { command, env } = digestCommand(inputs);
  const events = await client.execute(
    row.id,
    {
      command: {
        execution_id: row.execution_id,
        ...{ command, env: { ...env }, workdir: null, output_limit: OUTPUT_MAX_BYTES },
        timeout_ms: Math.max(1, Math.floor(Math.min(row.left_ms, DIGEST_WITHIN_MS))),
      },
    },
    stop,
  );
  const printed: Buffer[] = [];
  for await (const event of events) {
    if (event.type === "stdout") printed.push(event.data);
    if (event.type === "exit" && event.exit.exit_code !== 0) return {};
  }
  return readDigests(inputs, Buffer.concat(printed).toString("latin1"));
}

function mismatch(step: StepRow, { request }: BuildRow, digests: ContextDigests): SkerryError {
  const told = request.context_digests ?? {};
  const path = Object.keys(told).find((each) => told[each] !== digests[each]) ?? "";
  return new SkerryError(
    "context_mismatch",
    `The context is not what its digests said of "${path || step.name}".`,
    {
      remediation: "Build again when nothing changes the files meanwhile, or without `context_digests`.",
      context: { path },
    },
  );
}

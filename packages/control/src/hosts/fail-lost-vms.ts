// What a host takes with it when it is not heard of any more, or is none any more.

import {
  markOffline,
  writeSteps,
  type LostMachine,
  type LostMachineStep,
  type Loss,
} from "./offline-store.ts";
import type { Context } from "../context.ts";
import { operatorOrganization } from "../organizations/operator-organization.ts";
import type { Queries } from "../db/database.ts";
import { recordOwnActs } from "../audit/audit-log.ts";
import { giveUpReason, applyRestartPolicy } from "../values/restart-policy.ts";

/** Marks silent hosts offline, fails what ran on all that are, has their policies say what becomes of machines, and writes it into the audit
 *  logs of their organizations. */
export async function failLostVms(
  transaction: Queries,
  service: string,
): Promise<readonly (Loss | LostMachine)[]> {
  const found = await markOffline(transaction);
  await writeSteps(
    transaction,
    found.flatMap((loss) => (loss.kind === "machine" ? [stepOf(loss)] : [])),
  );
  const operator = found.length === 0 ? undefined : await operatorOrganization(transaction);
  for (const [kind, action] of acts) {
    const rows = found
      .filter((loss) => loss.kind === kind)
      .flatMap(({ id, org_id }) => {
        const owner = org_id ?? operator;
        return owner === undefined ? [] : [{ id, org_id: owner }];
      });
    await recordOwnActs(transaction, { service, action, resource: kind }, rows);
  }
  return found;
}

/** Once they are committed. */
export function tellLosses({ metrics, wake }: Context, losses: readonly (Loss | LostMachine)[]): void {
  const machines = losses.filter(({ kind }) => kind === "machine").length;
  if (machines === 0) return;
  metrics.machineEnds.add(machines, "host_lost");
  wake("restart-manager");
}

/** A machine whose disk matters waits for its host, however its policy has it. */
function stepOf(machine: LostMachine): LostMachineStep {
  const { id, retries } = machine;
  const step = applyRestartPolicy(machine, false, Math.random());
  if (step.kind === "rest") return { id, retries, note: "", delayMs: null };
  if (step.kind === "give_up")
    return { id, retries: step.retries, note: `; ${giveUpReason(step.retries)}`, delayMs: null };
  return machine.restart_disk === "disposable"
    ? { id, retries: step.retries, note: "", delayMs: step.delayMs }
    : { id, retries, note: "; it waits for the host, which has its disk", delayMs: null };
}

const acts = [
  ["host", "host.offline"],
  ["sandbox", "sandbox.fail"],
  ["machine", "machine.end"],
] as const;

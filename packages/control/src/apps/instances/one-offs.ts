// MicroVMs for commands by hand, in the environment of the release that is live. The deployer takes them away
// once they have stopped, which they do by themselves when nothing has run in them for a while.

import { ONE_OFFS_MAX } from "@skerry/contract/apps/app-bounds";
import type { OneOffRequest } from "@skerry/contract/apps/one-off";
import { SkerryError } from "@skerry/contract/errors";
import type { Machine } from "@skerry/contract/machines/machine";
import type { Caller } from "../../caller.ts";
import type { Context } from "../../context.ts";
import type { Queries } from "../../db/database.ts";
import type { Creation } from "../../idempotency/create-once.ts";
import { boundReached } from "../../limits/quota-exceeded.ts";
import { createMachine, type NewMachineRequest } from "../../machines/machine-creation.ts";
import { machineOf } from "../../machines/machines.ts";
import { releaseToRun } from "../app-facts.ts";
import { appNotFound, DEPLOYER, getAppRow, refuseDeleting } from "../app-rows.ts";
import { lockApp } from "../app-store.ts";
import { insertInstance, instancesOf, setInstanceState } from "./instance-store.ts";
import { ownSecretNames } from "../app-secrets.ts";
import { ONE_OFF } from "../reconcile-facts.ts";
import { machineRequest } from "./start-instance.ts";

/** Numbers of them are no order: two that are begun at once have different ones. */
const NUMBER_MAX = 1_000_000;

export function oneOffCreation(
  context: Context,
  caller: Caller,
  {
    id: appId,
    request: { size },
    timing,
  }: Pick<NewMachineRequest, "timing"> & { readonly id: string; readonly request: OneOffRequest },
): Creation<Machine> {
  return {
    async create(attempt) {
      const app = await getAppRow(context.db, caller, appId);
      refuseDeleting(app);
      const release = await releaseToRun(context.db, app);
      if (release === undefined)
        throw new SkerryError("release_not_found", "No release of the app is live yet.", {
          remediation: "Deploy one first.",
        });
      const seat = { group: ONE_OFF, number: 1 + Math.floor(Math.random() * NUMBER_MAX) };
      const own = await ownSecretNames(context, caller, appId);
      const request = { ...machineRequest(app, release, { seat, own }), ...(size !== undefined && { size }) };
      const owner = { kind: "app", id: app.id, name: app.name } as const;
      const instance = {
        app_id: appId,
        release: release.number,
        group_name: seat.group,
        number: seat.number,
      };
      const beside = (transaction: Queries, id: string) =>
        takeSeat(transaction, caller, { ...instance, machine_id: id });
      return machineOf(await createMachine(context, { caller, request, owner, timing, beside }, attempt));
    },
  };
}

/** Under the app's lock, so that no number of requests at once gets more than there may be. */
async function takeSeat(
  transaction: Queries,
  { orgId }: Caller,
  instance: Parameters<typeof insertInstance>[1],
): Promise<void> {
  const { app_id: id } = instance;
  const app = await lockApp(transaction, orgId, id);
  if (app === undefined) throw appNotFound(id);
  refuseDeleting(app);
  const others = await instancesOf(transaction, [id]);
  const used = others.filter(({ group_name: group }) => group === ONE_OFF).length;
  if (used >= ONE_OFFS_MAX)
    throw boundReached({ quota: "one_offs", nouns: "one-off microVMs", used, limit: ONE_OFFS_MAX });
  await insertInstance(transaction, instance);
}

/** The deployer takes it away at once. */
export async function deleteOneOff(
  context: Context,
  caller: Caller,
  { id, machine }: { readonly id: string; readonly machine: string },
): Promise<void> {
  const app = await getAppRow(context.db, caller, id);
  const found = (await instancesOf(context.db, [id])).find(
    ({ machine_id, group_name: group, number }) =>
      group === ONE_OFF && [machine_id, `${app.name}/${group}.${number}`].includes(machine),
  );
  if (found === undefined)
    throw new SkerryError("machine_not_found", "The app has no such one-off microVM.", {
      context: { id: machine.slice(0, 100) },
    });
  await setInstanceState(context.db, found.machine_id, "draining");
  context.wake(DEPLOYER);
}

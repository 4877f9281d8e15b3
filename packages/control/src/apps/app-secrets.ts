// Secrets of one app alone. Instances of its next releases have all of them in their environment.

import type { Secret, SecretDeleted, SecretList } from "@skerry/contract/secrets/secret";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import { deleteSecret, listSecrets, ofApp, setSecret } from "../secrets/secrets.ts";
import { getAppRow, refuseDeleting } from "./app-rows.ts";

interface Ref {
  readonly id: string;
  readonly name: string;
}

export async function listAppSecrets(context: Context, caller: Caller, id: string): Promise<SecretList> {
  await getAppRow(context.db, caller, id);
  return listSecrets(context, ofApp(caller, id));
}

export async function setAppSecret(
  context: Context,
  caller: Caller,
  { id, ...value }: Ref & { readonly value: string },
): Promise<Secret> {
  refuseDeleting(await getAppRow(context.db, caller, id));
  return setSecret(context, ofApp(caller, id), value, caller.userId);
}

export async function deleteAppSecret(
  context: Context,
  caller: Caller,
  { id, name }: Ref,
): Promise<SecretDeleted> {
  await getAppRow(context.db, caller, id);
  return deleteSecret(context, ofApp(caller, id), name);
}

/** Names of those that there are now. */
export async function ownSecretNames(
  context: Context,
  tenant: Pick<Caller, "orgId">,
  appId: string,
): Promise<string[]> {
  const { items } = await listSecrets(context, ofApp(tenant, appId));
  return items.map(({ name }) => name);
}

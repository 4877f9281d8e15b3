// Where templates of organizations go beside the host that built them: hosts are chosen above, and the service `template-spreader` carries them there.

import { randomBytes } from "node:crypto";
import type { Queries } from "../db/database.ts";
import type { Context } from "../context.ts";
import { isStored } from "../object-store/stored-layers.ts";
import type { OwnTemplateRow } from "./own-template-rows.ts";
import { insertCopy, sendersOf, type CopyState } from "./template-copy-rows.ts";

/** Whether a host that lacks it could get it: from another one, or from the object store. */
export async function canBeBrought(
  context: Pick<Context, "db" | "objectStore">,
  { id, org_id: orgId, image }: Pick<OwnTemplateRow, "id" | "org_id" | "image">,
): Promise<boolean> {
  if ((await sendersOf(context.db, id)).length > 0) return true;
  return isStored(context, { orgId, digests: image.layers.map(({ digest }) => digest) });
}

export interface CopyOrder {
  readonly templateId: string;
  /** Of the host that it goes to. */
  readonly hostId: string;
  /** Names of the sizes to freeze there. */
  readonly sizes: readonly string[];
}

/** The caller wakes `template-spreader` when the transaction has ended. */
export function orderCopy(transaction: Queries, { templateId, hostId, sizes }: CopyOrder): Promise<void> {
  const ticket = randomBytes(32).toString("hex");
  return insertCopy(transaction, { template_id: templateId, host_id: hostId, sizes: [...sizes], ticket });
}

/** Of these hosts, best first, the one that the template is on its way to, or may go to; undefined where it has failed on all of them a short time ago. */
export function chooseTarget(
  hostIds: readonly string[],
  copies: readonly CopyState[],
): { readonly hostId: string; readonly isUnderWay: boolean } | undefined {
  const underWay = copies.find(({ host_id, status }) => status === "copying" && hostIds.includes(host_id));
  if (underWay !== undefined) return { hostId: underWay.host_id, isUnderWay: true };
  const failed = new Set(copies.map(({ host_id }) => host_id));
  const hostId = hostIds.find((id) => !failed.has(id));
  return hostId === undefined ? undefined : { hostId, isUnderWay: false };
}

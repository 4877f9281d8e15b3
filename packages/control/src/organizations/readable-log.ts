import { isId } from "@skerry/contract/ids";
import { organizationNotYours } from "../auth/authenticate.ts";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import { isDeleted } from "./deleted-organization-store.ts";

/**
 * The organization whose audit log the request is for: the caller's. Where the request names another, the caller is the operator of the
 * platform, who reads the logs of deleted organizations, because these have no members left, and of no others.
 */
export async function readableLog(
  { db }: Context,
  caller: Caller,
  named: string | undefined,
): Promise<string> {
  if (named === undefined || named === caller.orgId) return caller.orgId;
  if (isId("organization", named) && (await isDeleted(db, named))) return named;
  throw organizationNotYours();
}

// Organizations, tokens and members by id, by the beginning of it, or by name.

import type { Skerry } from "@skerry/sdk";
import type { Named, TargetKind } from "../../targets.ts";

export const ORGANIZATION_ARGUMENT = "id of the organization, the beginning of it, or its name";
export const TOKEN_ARGUMENT = "id of the token, the beginning of it, or its name";
export const MEMBER_ARGUMENT = "id of the member, the beginning of it, name, or email address";

/** The organization to work in, as `--org`, SKERRY_ORG_ID, `skerry org use` or the token say. */
export async function here(client: Skerry, signal: AbortSignal): Promise<string> {
  return (await client.me({ signal })).organization_id;
}

export function tokenTarget({ tokens }: Skerry, signal: AbortSignal): TargetKind {
  return { kind: "token", noun: "token", list: () => tokens.list({ signal }) };
}

/** The members of one organization. */
export function memberTarget(
  { organizations }: Skerry,
  organizationId: string,
  signal: AbortSignal,
): TargetKind {
  return {
    kind: "user",
    noun: "member",
    async *list(): AsyncGenerator<Named> {
      for await (const { user_id: id, name, email } of organizations.members(organizationId, { signal })) {
        yield { id, name };
        if (email !== null) yield { id, name: email };
      }
    },
  };
}

/** Users that the caller can know of: the members of the organizations that the caller is in. Here they go by their ids alone. */
export function knownUserTarget({ organizations }: Skerry, signal: AbortSignal): TargetKind {
  return {
    kind: "user",
    noun: "user",
    async *list(): AsyncGenerator<Named> {
      for await (const { id: organizationId } of organizations.list({ signal }))
        for await (const { user_id: id } of organizations.members(organizationId, { signal }))
          yield { id, name: null };
    },
  };
}

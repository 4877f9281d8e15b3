// The authority that has certified control and its hosts, and a change of it for another one.

import { Type, type Static } from "typebox";
import { named } from "../named.ts";
import { OneOf, Timestamp } from "../fields.ts";
import { exampleDigest, exampleIds } from "../example-ids.ts";
import { hostStatuses } from "../hosts/host-status.ts";

/**
 * How far a change is. `announcing`: hosts are told to trust the next authority beside the one that signs. `renewing`: the next one signs, and
 * every host gets a certificate of it. `withdrawing`: the one before is removed, and hosts are told to trust it no more.
 */
export const rotationSteps = ["none", "announcing", "renewing", "withdrawing"] as const;
export type RotationStep = (typeof rotationSteps)[number];

export const Authority = named(
  "Authority",
  {
    fingerprint: Type.String({
      description: "SHA-256 of the public key of the authority that signs, as base64url.",
    }),
    created_at: Timestamp,
    rotation: OneOf(rotationSteps, {
      description:
        "`announcing`: hosts are told to trust the next authority, too. `renewing`: it signs, and hosts get certificates of it. " +
        "`withdrawing`: the one before is gone, and hosts are told so.",
    }),
    waits_for: Type.Array(
      Type.Object(
        { host_id: Type.String(), name: Type.String(), status: OneOf(hostStatuses) },
        { additionalProperties: false },
      ),
      { description: "Hosts that the next step waits for, 100 at most." },
    ),
  },
  {
    fingerprint: exampleDigest,
    created_at: "2026-11-20T16:20:00.000Z",
    rotation: "announcing",
    waits_for: [{ host_id: exampleIds.host, name: "rack-7", status: "offline" }],
  },
);
export type Authority = Static<typeof Authority>;

export const AuthorityRotateRequest = named(
  "AuthorityRotateRequest",
  {
    leave_offline: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          "Do not wait for hosts that are offline. They have to join again, with what is on their disks.",
      }),
    ),
  },
  {},
);
export type AuthorityRotateRequest = Static<typeof AuthorityRotateRequest>;

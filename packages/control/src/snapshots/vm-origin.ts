// What a new VM begins with: a template, or the snapshot of another VM of its kind.

import { SkerryError } from "@skerry/contract/errors";
import type { VmSpec } from "@skerry/contract/host-api/vm";
import type { Size } from "@skerry/contract/sizes";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import { checkText } from "../values/check-text.ts";
import { readSize } from "../values/sizes.ts";
import type { VmKind } from "../vms/vm-kind.ts";
import { requireReading, usableSnapshot } from "./snapshots.ts";
import type { SnapshotRow } from "./snapshot-row.ts";

export type VmOrigin =
  /** Name or id. */
  | { readonly kind: "template"; readonly template: string }
  | { readonly kind: "snapshot"; readonly snapshot: SnapshotRow };

interface OriginRequest {
  readonly template?: string;
  readonly snapshot?: string;
  readonly command?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly secrets?: readonly unknown[];
}

/** Throws `bad_request` unless the request names exactly one of them, and `forbidden` where what it has run at a snapshot could read that and the
 *  caller may not. */
export async function readOrigin(
  context: Context,
  caller: Caller,
  {
    noun,
    request: { template, snapshot, ...own },
  }: { readonly noun: VmKind["noun"]; readonly request: OriginRequest },
): Promise<VmOrigin> {
  if (template !== undefined && snapshot === undefined)
    return { kind: "template", template: checkText("template", template) };
  if (snapshot !== undefined && template === undefined) {
    const found = await usableSnapshot(context, caller, { asked: snapshot, of: noun });
    if (runsOwn(own)) requireReading(caller, noun);
    return { kind: "snapshot", snapshot: found };
  }
  if (template === undefined)
    throw new SkerryError("bad_request", '"template" is missing, and so is "snapshot".', {
      remediation: "Give it: Template name or id, such as `base`; `GET /v1/templates` lists them.",
      context: { field: "template" },
    });
  throw new SkerryError("bad_request", `A ${noun} begins with either "template" or "snapshot".`, {
    remediation: "Leave one of them out.",
    context: { field: "snapshot" },
  });
}

/**
 * A variable, and a secret is one, can have a program run code, as `BASH_ENV` and `NODE_OPTIONS` do, and what
 * a machine prints is in its log.
 */
function runsOwn({
  command,
  env = {},
  secrets = [],
}: Pick<OriginRequest, "command" | "env" | "secrets">): boolean {
  return command !== undefined || Object.keys(env).length > 0 || secrets.length > 0;
}

/** Its memory has one. */
export function sizeOf({ size }: SnapshotRow, asked: string | undefined): Size {
  if (asked === undefined || asked === size) return readSize(size);
  throw new SkerryError(
    "snapshot_incompatible",
    `The snapshot has the size "${size}", and no other is possible.`,
    { remediation: 'Leave out "size".', context: { field: "size", value: asked } },
  );
}

export function fromOf(origin: VmOrigin): Pick<VmSpec, "from"> {
  return origin.kind === "template" ? {} : { from: { kind: "snapshot", snapshot_id: origin.snapshot.id } };
}

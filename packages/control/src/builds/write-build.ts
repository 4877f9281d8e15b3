// The rows of a build: what it is, where it is carried out, and its steps. Those that the cache has are done from the start.

import { newId } from "@skerry/contract/ids";
import type { VmBuild } from "@skerry/contract/host-api/templates";
import type { Egress } from "@skerry/contract/vms/egress";
import type { Queries } from "../db/database.ts";
import type { StoredBuildRequest } from "../db/tables/build-tables.ts";
import type { BuildParams } from "./build-params.ts";
import { insertBuild, insertSteps, sweepBuilds, type BuildRow } from "./build-store.ts";
import { plannedRows } from "./planned-rows.ts";
import type { CacheRow } from "./cache-store.ts";

export interface NewBuild {
  readonly id: string;
  readonly orgId: string;
  readonly params: Pick<
    BuildParams,
    "name" | "tag" | "ownerId" | "plan" | "config" | "size" | "timeoutMs" | "stepTimeoutMs"
  > & { readonly request: StoredBuildRequest };
  readonly hostId: string;
  readonly egress: Egress;
  /** What the steps begin on without the cache, and its key. */
  readonly origin: VmBuild;
  readonly parent: string;
  /** What it may take of a disk. */
  readonly diskGib: number;
  /** Of the steps. */
  readonly keys: readonly (string | null)[];
  /** What the cache has of them; the last one is what the build begins on. */
  readonly cached: readonly CacheRow[];
  /** It is carried out. Otherwise it takes no room, and no host gets its steps. */
  readonly isCarriedOut: boolean;
}

/** One comes, so more than one goes where there are too many: what was asked for is up to 256 KiB, and the service `sweeper` comes by only now and then. */
const FORGOTTEN_MAX = 2;

export async function writeBuild(transaction: Queries, build: NewBuild): Promise<BuildRow> {
  await sweepBuilds(transaction, build.orgId, FORGOTTEN_MAX);
  const { params, origin, cached, isCarriedOut } = build;
  const { name, tag, ownerId, request, config, size, timeoutMs } = params;
  const from = cached.at(-1);
  const target =
    from === undefined ? origin : { ...origin, on: { kind: "image", image: from.image } as const };
  const row = await insertBuild(
    transaction,
    {
      ...{ id: build.id, org_id: build.orgId, name, tag, owner_id: ownerId },
      request: JSON.stringify(request),
      context: isCarriedOut && request.context === true ? "awaited" : "none",
      host_id: build.hostId,
      execution_id: isCarriedOut ? newId("incarnation") : null,
      ...{ size: size.name, vcpus: size.vcpus, memory_mib: size.memory_mib },
      disk_gib: build.diskGib,
      egress: JSON.stringify(build.egress),
      target: JSON.stringify(target),
      origin: from === undefined ? null : JSON.stringify(origin),
      cache_id: from?.id ?? null,
      parent_key: build.parent,
      config: JSON.stringify(config),
      template_id: newId("template"),
    },
    timeoutMs,
  );
  await writeSteps(transaction, row, build);
  return row;
}

async function writeSteps(
  transaction: Queries,
  row: BuildRow,
  { params, keys, cached, isCarriedOut }: NewBuild,
): Promise<void> {
  const skipped = keys.findLastIndex((key) => key !== null && key === cached.at(-1)?.key);
  await insertSteps(
    transaction,
    plannedRows(row, params.plan, params.stepTimeoutMs).map((step, index) => ({
      ...step,
      ...(isCarriedOut ? {} : { command: "", env: "{}" }),
      key: keys[index] ?? null,
      status: index <= skipped ? ("done" as const) : ("waiting" as const),
      cache_hit: index <= skipped,
      bytes: cached.find(({ key }) => key === keys[index])?.bytes.toString() ?? null,
    })),
  );
}

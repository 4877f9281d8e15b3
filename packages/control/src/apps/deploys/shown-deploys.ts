// Deploys and releases as callers see them.

import type { Deploy } from "@skerry/contract/apps/deploy";
import type { Release } from "@skerry/contract/apps/release";
import type { DeployRow, ReleaseRow } from "../app-store.ts";

export function shownDeploy(row: DeployRow): Deploy {
  const { id, app_id, release, build_id, status, reason, created_by } = row;
  return {
    ...{ id, app_id, release, build_id, status, reason, created_by },
    created_at: row.created_at.toISOString(),
    ends_by: row.ends_by.toISOString(),
    finished_at: row.finished_at?.toISOString() ?? null,
  };
}

export function shownRelease({
  number,
  template,
  env,
  secrets,
  manifest,
  created_by,
  created_at,
}: ReleaseRow): Release {
  return {
    ...{ number, template, created_by },
    variables: Object.keys(env).toSorted(),
    secrets: secrets.map(({ name }) => name),
    manifest: { ...manifest, services: [...manifest.services] },
    created_at: created_at.toISOString(),
  };
}

import { SkerryError } from "@skerry/contract/errors";
import type { QuotaName } from "@skerry/contract/limits/quotas";

const nounOf: Readonly<Record<QuotaName, string>> = {
  sandboxes: "sandboxes",
  machines: "machines",
  vcpus: "vCPUs",
  memory_mib: "MiB of memory",
  disk_gib: "GiB of disk",
  persistent_disk_gib: "GiB of disk for persistent and paused sandboxes",
  snapshots: "snapshots",
  snapshot_gib: "GiB of snapshots",
  builds: "builds under way",
  template_gib: "GiB of templates",
  tokens: "valid tokens",
  apps: "apps",
};

const remedies: Partial<Record<QuotaName, string>> = {
  tokens: "Revoke tokens that you no longer need",
  builds: "Wait until a build has ended, or cancel one",
  template_gib: "Delete templates that you no longer need, which `skerry template list` shows",
  apps: "Delete apps that you no longer need, which `skerry app list` shows",
};

export function quotaExceeded(
  quota: QuotaName,
  { used, requested, limit }: { readonly used: number; readonly requested: number; readonly limit: number },
): SkerryError {
  return new SkerryError(
    "quota_exceeded",
    `The organization has ${used} of ${limit} ${nounOf[quota]}, and this would take ${requested} more.`,
    {
      remediation: `${remedies[quota] ?? "Destroy what you no longer need"}, or ask the operator for more. \`GET /v1/limits\` shows all quotas.`,
      context: { quota, used, requested, limit },
    },
  );
}

interface Bound {
  /** Its name for programs, in the error's context. */
  readonly quota: string;
  /** The same for people. */
  readonly nouns: string;
  readonly used: number;
  readonly limit: number;
  readonly remediation?: string;
}

/** The error for a number of resources whose bound no operator changes. */
export function boundReached({
  quota,
  nouns,
  used,
  limit,
  remediation = `Delete ${nouns} that you no longer need.`,
}: Bound): SkerryError {
  return new SkerryError(
    "quota_exceeded",
    `The organization has ${used} ${nouns}, and an organization has at most ${limit}.`,
    { remediation, context: { quota, used, requested: 1, limit } },
  );
}

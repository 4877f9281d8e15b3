// Next step of a deploy before its first instance: its template is built, and its release command runs. Pure.
// The app's live release goes on meanwhile as if there were no deploy.

import type { Build } from "@skerry/contract/builds/build";
import type { DeployStatus } from "@skerry/contract/apps/deploy-status";
import type { ErrorCode } from "@skerry/contract/errors";
import type { InstanceFact } from "../reconcile-facts.ts";

export interface PreparationFact {
  readonly status: DeployStatus;
  readonly isOverdue: boolean;
  /** The release has its template. */
  readonly isBuilt: boolean;
  /** Undefined: there is none, or it is forgotten. */
  readonly build: Pick<Build, "id" | "status" | "template_id" | "error"> | undefined;
  readonly releaseCommand: string | undefined;
  /** The microVM that runs it for this release. */
  readonly job: InstanceFact | undefined;
}

export type PreparationAction =
  | { readonly kind: "built"; readonly template: string }
  | { readonly kind: "runReleaseCommand" }
  | { readonly kind: "discard"; readonly instance: InstanceFact }
  | { readonly kind: "proceed"; readonly to: DeployStatus }
  | {
      readonly kind: "fail";
      readonly code: ErrorCode;
      readonly message: string;
      readonly instance?: InstanceFact;
      readonly lastLines?: readonly string[];
    };

const LOST =
  "The host of the release command was lost: it is not known how far the command has come. Look, and deploy again.";

export function preparation(fact: PreparationFact): PreparationAction[] {
  const { status, isBuilt, isOverdue, job, releaseCommand } = fact;
  if (!isBuilt) return [...entered(status, "building"), ...buildActions(fact)];
  if (isOverdue)
    return [
      { kind: "fail", code: "deploy_timed_out", message: "It was not live before its timeout was over." },
    ];
  if (releaseCommand === undefined) return [{ kind: "proceed", to: "starting" }];
  if (job === undefined)
    return status === "releasing" ? [{ kind: "runReleaseCommand" }] : entered(status, "releasing");
  if (job.end === undefined) return [];
  if (!job.hasRun) return [{ kind: "discard", instance: job }];
  if (job.isLost) return [{ kind: "fail", code: "host_unavailable", message: LOST, instance: job }];
  if (job.end.exitCode === 0) return [{ kind: "proceed", to: "starting" }];
  const message = `The release command failed: ${job.end.message}`;
  return [{ kind: "fail", code: "instance_failed", message, instance: job }];
}

function entered(from: DeployStatus, to: DeployStatus): PreparationAction[] {
  return from === to ? [] : [{ kind: "proceed", to }];
}

function buildActions({ build }: PreparationFact): PreparationAction[] {
  if (build === undefined)
    return [{ kind: "fail", code: "build_not_found", message: "Its build is forgotten." }];
  const { status, template_id: template, error, id } = build;
  if (status === "ready" && template !== null) return [{ kind: "built", template }];
  if (status !== "failed" && status !== "canceled") return [];
  const message = `The build ${id} ${status === "failed" ? "failed" : "was canceled"}${error === null ? "." : `: ${error.message}`}`;
  return [
    {
      kind: "fail",
      ...{ code: error?.code ?? "build_canceled", message, lastLines: error?.last_lines ?? [] },
    },
  ];
}

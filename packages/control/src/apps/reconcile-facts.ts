// Facts that the rules of apps take, and actions that they give.

import type { DeployStatus } from "@skerry/contract/apps/deploy-status";
import type { ErrorCode } from "@skerry/contract/errors";
import type { StoredManifest } from "./app-tables.ts";
import type { InstanceRow } from "./instances/instance-store.ts";

/** Group of the microVM that runs a release command. No group of an app can have this name. */
export const RELEASE_COMMAND = "release_command";

/** Group of microVMs for commands by hand. */
export const ONE_OFF = "one_off";

export interface InstanceFact extends Pick<
  InstanceRow,
  "machine_id" | "release" | "group_name" | "number" | "state"
> {
  /** Why its machine does not run any more; undefined while it does, or begins to. */
  readonly end: { readonly message: string; readonly exitCode: number | null } | undefined;
  /** It ended with its host, which says nothing of the release. */
  readonly isLost: boolean;
  /** Otherwise it ended before its process began: control died while it was made. */
  readonly hasRun: boolean;
  readonly isRunning: boolean;
  /** Its process has been told to end. */
  readonly isStopping: boolean;
  /** It runs, and its check has passed where it has one. */
  readonly isReady: boolean;
  /** Why its check fails, after its grace; undefined: it does not. */
  readonly failure: string | undefined;
  /** The proxies give it no requests any more, and it has none; or its time to drain is over. */
  readonly isDrained: boolean;
  /** It has served for ten minutes. */
  readonly isProven: boolean;
  readonly servedMs: number;
  /** Its host is drained, or it has not been well for long, so that another one takes its place. */
  readonly isLeaving: boolean;
}

export interface AppFact {
  readonly isDeleting: boolean;
  readonly scale: Readonly<Record<string, number>>;
  /** The release that is wanted: of the deploy that is under way, or else the live one. */
  readonly wanted: { readonly number: number; readonly manifest: StoredManifest } | undefined;
  readonly deploy:
    | { readonly status: DeployStatus; readonly release: number; readonly isOverdue: boolean }
    | undefined;
  /** The live release goes back where an instance of it fails. */
  readonly isWatched?: boolean;
  /** Fault that its requests find with the release that is watched; undefined: none. */
  readonly errors?: string | undefined;
  /** The release that a deploy prepares. */
  readonly preparing?: number | undefined;
  /**
   * Why hosts do not serve what the rows say; undefined: they do. What serves now is left alone meanwhile.
   */
  readonly edgeFault: string | undefined;
  /** No instance that ended by itself keeps the next one waiting. */
  readonly mayStart: boolean;
}

export type AppAction =
  | { readonly kind: "start"; readonly group: string; readonly number: number }
  | { readonly kind: "serve" | "drain" | "stop" | "destroy" | "replace"; readonly instance: InstanceFact }
  | { readonly kind: "proceed"; readonly to: DeployStatus }
  | {
      readonly kind: "fail";
      readonly code: ErrorCode;
      readonly message: string;
      readonly instance?: InstanceFact;
    }
  | {
      readonly kind: "rollBack";
      readonly code: ErrorCode;
      readonly message: string;
      /** The one that failed; undefined: its requests did. */
      readonly instance: InstanceFact | undefined;
    };

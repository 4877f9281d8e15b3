// Faults of a release: those that fail its deploy, and those for which it goes back while it is watched.
// Pure.

import type { AppAction, AppFact, InstanceFact } from "../reconcile-facts.ts";

/** Why the deploy has failed, where it has. */
export function deployFault(
  {
    deploy: { release, isOverdue },
    edgeFault,
    wanted,
  }: AppFact & { readonly deploy: NonNullable<AppFact["deploy"]> },
  instances: readonly InstanceFact[],
): AppAction | undefined {
  const isTried = ({ state }: InstanceFact) =>
    state === "starting" || (state === "serving" && wanted?.manifest.canary !== undefined);
  const own = instances.filter((one) => one.release === release && isTried(one));
  const ended = own.find(({ end, isLost, hasRun }) => end !== undefined && !isLost && hasRun);
  if (ended?.end !== undefined)
    return {
      kind: "fail",
      code: "instance_failed",
      message: `${nameOf(ended)} ended: ${ended.end.message}`,
      instance: ended,
    };
  const failing = own.find(({ failure }) => failure !== undefined);
  if (failing !== undefined)
    return {
      kind: "fail",
      code: "instance_failed",
      message: `The check of ${nameOf(failing)} fails: ${failing.failure}`,
      instance: failing,
    };
  if (!isOverdue) return undefined;
  const why = edgeFault === undefined ? "" : `: ${edgeFault}`;
  const message = `It was not live before its timeout was over${why}.`;
  return { kind: "fail", code: "deploy_timed_out", message };
}

/** Why the live release goes back, where it does. */
export function watchFault(
  { isWatched, isDeleting, deploy, preparing, wanted, errors }: AppFact,
  instances: readonly InstanceFact[],
): AppAction | undefined {
  if (isWatched !== true || isDeleting || deploy !== undefined || preparing !== undefined) return undefined;
  const own = instances.filter(
    (one) => one.release === wanted?.number && (one.state === "serving" || one.state === "starting"),
  );
  // One that is added and is slow to be well says nothing of those that serve.
  const faultOf = ({ end, failure, state }: InstanceFact) =>
    end ?? (state === "serving" ? failure : undefined);
  const failed = own.find(
    (one) => !one.isStopping && !one.isLost && one.hasRun && faultOf(one) !== undefined,
  );
  if (failed === undefined)
    return errors === undefined
      ? undefined
      : { kind: "rollBack", code: "errors_doubled", message: errors, instance: undefined };
  const { end, failure } = failed;
  const message =
    end === undefined
      ? `The check of ${nameOf(failed)} fails: ${failure}`
      : `${nameOf(failed)} ended: ${end.message}`;
  return { kind: "rollBack", code: "instance_failed", message, instance: failed };
}

function nameOf({ group_name: group, number }: InstanceFact): string {
  return `${group}.${number}`;
}

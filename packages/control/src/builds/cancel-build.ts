import { isBuildOver } from "@skerry/contract/builds/build-status";
import { SkerryError } from "@skerry/contract/errors";
import type { Build } from "@skerry/contract/builds/build";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import { retryOnConflict } from "../db/retry-on-conflict.ts";
import { proceedBuild, type BuildRow } from "./build-store.ts";
import { countBuildEnd } from "./count-build-end.ts";
import { getBuild } from "./builds.ts";
import { destroyBuildVm } from "./run-build.ts";

/** At once, in whatever state it is. One that has ended stays as it is. */
export async function cancelBuild(context: Context, caller: Caller, id: string): Promise<Build> {
  const row = await retryOnConflict(
    async (): Promise<BuildRow | undefined> => {
      const seen = (await getBuild(context, caller, id)).row;
      if (isBuildOver(seen.status)) return seen;
      return countBuildEnd(context, await proceedBuild(context.db, seen, "canceled"));
    },
    () => new SkerryError("internal", "The build changed too often to be canceled."),
  );
  // Of one that was being frozen the service may be putting the template on its host right now. It deletes that after it has stopped doing so.
  if (row.image === null)
    // Where the host does not answer, the service goes on with it.
    await destroyBuildVm(context, row).catch((error: unknown) => {
      context.log.warn({ err: error, build_id: id }, "a host did not confirm the end of a build");
    });
  context.wake("builder");
  return (await getBuild(context, caller, id)).build;
}

import { isBuildOver, type BuildStatus } from "@skerry/contract/builds/build-status";
import type { Context } from "../context.ts";

interface EndedBuild {
  readonly status: BuildStatus;
  readonly created_at: Date | string;
  readonly finished_at: Date | string | null;
}

/** Called by the writer of its end, once that is committed. Returns the build. */
export function countBuildEnd<Build extends EndedBuild>(
  { metrics }: Context,
  build: Build | undefined,
): Build | undefined {
  if (build === undefined || build.finished_at === null || !isBuildOver(build.status)) return build;
  const tookMs = new Date(build.finished_at).getTime() - new Date(build.created_at).getTime();
  metrics.builds.observe(tookMs / 1_000, build.status);
  return build;
}

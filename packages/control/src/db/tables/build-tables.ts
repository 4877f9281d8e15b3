// Builds, their steps and their logs, and what steps have left.

import type { ColumnType, Generated } from "kysely";
import type { PulledImage } from "@skerry/contract/templates/pulled-image";
import type { Build } from "@skerry/contract/builds/build";
import type { PlannedConfig } from "@skerry/build-plan/build-plan";
import type { BuildRequest } from "@skerry/contract/builds/build-request";
import type { BuildStatus, BuildStepStatus } from "@skerry/contract/builds/build-status";
import type { DiskImage, VmBuild } from "@skerry/contract/host-api/templates";
import type { Egress, EgressDenial } from "@skerry/contract/vms/egress";
import type { StoredWait } from "./stored-wait.ts";
import type { TemplateConfig } from "./template-tables.ts";
import type { Json, MaybeTime } from "./columns.ts";

/** Settings of the image that a build has pulled. A version before kept no command. */
export type StoredImageConfig = PlannedConfig & { readonly command?: string | null };

/** The request for a build. A build with `push` makes no template. */
export type StoredBuildRequest = BuildRequest & {
  readonly push?: {
    /** The version to push. */
    readonly template_id: string;
    readonly image: string;
  };
};

declare module "../database.ts" {
  interface Tables {
    builds: {
      id: string;
      org_id: string;
      name: string;
      tag: string;
      /** Resource that the version is for, which gets no tag; null: it is the organization's own. */
      owner_id: string | null;
      request: Json<StoredBuildRequest>;
      status: BuildStatus;
      version: Generated<number>;
      context: "none" | "awaited" | "there";
      host_id: string;
      /** The incarnation of its microVM; null: it has none any more, and holds nothing. */
      execution_id: string | null;
      size: string;
      vcpus: number;
      memory_mib: number;
      disk_gib: number;
      egress: Json<Egress>;
      /** The template, snapshot or empty disk that the steps begin on. */
      target: Json<VmBuild>;
      config: Json<TemplateConfig>;
      /** The disk that the steps wrote, once the host has sealed it. */
      image: ColumnType<DiskImage | null, string | null | undefined, string | null>;
      /** That was cloned; null: none, or not yet. */
      commit: ColumnType<string | null, string | null | undefined, string | null>;
      /** The image that it pulled, or pushed. */
      source: ColumnType<PulledImage | null, string | null | undefined, string | null>;
      /** Settings of the image that was pulled in a microVM of its own; null: none was, or the build is over.
       *  */
      image_config: ColumnType<StoredImageConfig | null, string | null | undefined, string | null>;
      template_id: string;
      /** The cached layer in the place of the first steps, and the target without it; null: all steps are carried out. */
      cache_id: Generated<string | null>;
      origin: ColumnType<VmBuild | null, string | null | undefined, string | null>;
      /** Cache key of the target, on which the first step begins. */
      parent_key: Generated<string>;
      error: ColumnType<Build["error"], string | null | undefined, string | null>;
      /** Packets that the egress rules of the build have refused. */
      denied: ColumnType<EgressDenial[], string | undefined, string>;
      log_lines: Generated<string>;
      log_bytes: Generated<string>;
      created_at: Generated<Date>;
      started_at: MaybeTime;
      finished_at: MaybeTime;
      ends_by: ColumnType<Date, Date, never>;
      /** Its timeout, until that begins with its first step; null once it has begun. */
      pending_timeout_ms: ColumnType<string | null, number | undefined, never>;
      waits_for: ColumnType<StoredWait | null, never, never>;
      attempts: Generated<number>;
      retry_at: Generated<Date>;
    };
    build_steps: {
      build_id: string;
      org_id: string;
      index: number;
      kind: string;
      name: string;
      command: string;
      env: Json<Readonly<Record<string, string>>>;
      /** Paths of the context that it reads. */
      inputs: Json<readonly string[]>;
      /** Cache key of the step and all before it; null: not known, or the step cannot be cached. */
      key: string | null;
      cache_hit: Generated<boolean>;
      /** Size of the layer that the step has left. */
      bytes: Generated<string | null>;
      timeout_ms: number | null;
      status: Generated<BuildStepStatus>;
      execution: string;
      /** Bytes of its output that are in the log. */
      position: Generated<string>;
      exit_code: number | null;
      started_at: MaybeTime;
      finished_at: MaybeTime;
    };
    build_cache: {
      /** Under which its host keeps the layers: as a template that is never frozen. */
      id: string;
      org_id: string;
      host_id: string;
      key: string;
      kind: string;
      name: string;
      /** `writing`: its host may have it, and the row does not say what it is. `deleting`: it is not used any more, and its host may still have it. */
      status: "writing" | "ready" | "deleting";
      image: ColumnType<DiskImage, string | undefined, string>;
      /** Size of its own layer. */
      bytes: ColumnType<string, string | undefined, string>;
      created_at: Generated<Date>;
      last_used_at: Generated<Date>;
    };
    build_log: {
      build_id: string;
      line: string;
      step: number | null;
      at: Generated<Date>;
      text: string;
    };
  }
}

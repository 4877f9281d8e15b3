// Templates of organizations: versions, what they are called, and which hosts have them.

import type { ColumnType, Generated } from "kysely";
import type { PulledImage } from "@skerry/contract/templates/pulled-image";
import type { DiskImage, TemplateImage } from "@skerry/contract/host-api/templates";
import type { Json, MaybeTime, Time } from "./columns.ts";

/** Settings of the VMs of a template, beside its files. */
export type TemplateConfig = Pick<TemplateImage, "env" | "user" | "workdir" | "start">;

declare module "../database.ts" {
  interface Tables {
    templates: {
      id: string;
      org_id: string;
      name: string;
      /** `deleting`: it is not shown any more, and hosts may still have it. */
      status: "ready" | "deleting" | "deleted";
      version: Generated<number>;
      digest: string;
      image: Json<DiskImage>;
      config: Json<TemplateConfig>;
      disk_gib: number;
      bytes: string;
      /** The image that it was made of. */
      source: ColumnType<PulledImage | null, string | null, never>;
      build_id: string;
      /** Resource that had it built, such as an app; null: it is the organization's own. */
      owner_id: string | null;
      /** Command of the image that it was made of; null: none, or not known. */
      command: string | null;
      /** Cache key of all that the template was made of; null: not known. */
      key: string | null;
      created_at: Generated<Date>;
      deleted_at: MaybeTime;
    };
    template_tags: {
      org_id: string;
      name: string;
      tag: string;
      template_id: string;
    };
    template_hosts: {
      template_id: string;
      host_id: string;
      /** That are frozen there, as far as is known. */
      sizes: Generated<string[]>;
    };
    /** On its way to a host that lacks it. */
    template_copies: {
      template_id: string;
      host_id: string;
      /** `failed`: nothing of it is there, and until `due_at` no other attempt is made. */
      status: "copying" | "failed";
      sizes: string[];
      ticket: string;
      attempts: Generated<number>;
      due_at: Time;
      reason: string | null;
    };
    /** Sizes whose memory hosts keep, as clones wake from it. */
    template_frozen: {
      template_id: string;
      size: string;
      memory_mib: number;
    };
    /** In the object store, or on the way there. */
    stored_layers: {
      id: string;
      org_id: string;
      digest: string;
      bytes: string;
      status: "storing" | "ready" | "deleting";
      sealed_key: Buffer | null;
      pieces: Generated<number>;
      urls: Generated<number>;
      urls_until: Time;
      damage: string | null;
      attempts: Generated<number>;
      due_at: Time;
      created_at: Generated<Date>;
    };
  }
}

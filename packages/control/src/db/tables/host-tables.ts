// Hosts.

import type { Generated } from "kysely";
import type { HostUsage } from "@skerry/contract/host-api/host-info";
import type { HostStatus, HostDesired } from "@skerry/contract/hosts/host-status";
import type { BuiltInTemplate } from "@skerry/contract/templates/template";
import type { Json, MaybeTime, Time } from "./columns.ts";

declare module "../database.ts" {
  interface Tables {
    hosts: {
      id: string;
      name: string;
      address: string;
      status: HostStatus;
      desired: Generated<HostDesired>;
      version: Generated<number>;
      status_since: Time;
      waits_for: string | null;
      silent_since: MaybeTime;
      silent_until: MaybeTime;
      unsettled: Generated<boolean>;
      cpus: number;
      memory_mib: number;
      templates: Json<BuiltInTemplate[]>;
      facts: Json<Record<string, string>>;
      usage: Json<HostUsage | null>;
      created_at: Generated<Date>;
      last_heartbeat: Time;
      key_sha256: Buffer | null;
      certificate_expires_at: MaybeTime;
      certified_by: number | null;
      trusts: Generated<readonly number[]>;
      joined: Generated<boolean>;
      removed_at: MaybeTime;
    };
  }
}

import type { ColumnType, Generated } from "kysely";
import type { instanceStates } from "@skerry/contract/apps/app";
import type { Deploy } from "@skerry/contract/apps/deploy";
import type { DeployStatus } from "@skerry/contract/apps/deploy-status";
import type { Manifest } from "@skerry/contract/apps/release";
import type { ShownSecret } from "@skerry/contract/vms/secrets";
import type { Json } from "../db/tables/columns.ts";
import type { AskedSecret } from "../vms/creation/vm-secrets.ts";

/** A manifest with every default filled in. */
export interface StoredManifest {
  readonly processes: NonNullable<Manifest["processes"]>;
  readonly services: Required<NonNullable<Manifest["services"]>[number]>[];
  readonly release_command?: string;
  readonly strategy: NonNullable<Manifest["strategy"]>;
  /** Values of the strategy `canary`. */
  readonly canary?: Required<NonNullable<Manifest["canary"]>>;
  readonly drain_timeout: string;
  /** Releases of the version before have none. */
  readonly watch?: string;
  readonly timeout: string;
}

/** Null takes a variable away. */
export type EnvChanges = Readonly<Record<string, string | null>>;

export interface ReleaseSecret extends AskedSecret {
  /** It was a secret of the app alone. */
  readonly own?: true;
}

declare module "../db/database.ts" {
  interface Tables {
    apps: {
      id: string;
      org_id: string;
      name: string;
      status: "active" | "deleting";
      label: string | null;
      scale: Json<Readonly<Record<string, number>>>;
      staged_env: Json<EnvChanges>;
      live: number | null;
      maintenance: Generated<boolean>;
      next_release: Generated<number>;
      crashes: Generated<number>;
      start_after: Generated<Date>;
      created_at: Generated<Date>;
    };
    app_changes: {
      id: string;
      org_id: string;
      version: Generated<number>;
      changed_in: Generated<string>;
      changed_seq: Generated<string>;
      gone_at: ColumnType<Date | null, never, Date | null>;
    };
    releases: {
      app_id: string;
      number: number;
      template: string | null;
      env: Json<Readonly<Record<string, string>>>;
      secrets: Json<readonly ReleaseSecret[]>;
      manifest: Json<StoredManifest>;
      created_by: string | null;
      created_at: Generated<Date>;
    };
    deploys: {
      id: string;
      app_id: string;
      org_id: string;
      release: number;
      build_id: string | null;
      status: DeployStatus;
      version: Generated<number>;
      reason: ColumnType<Deploy["reason"], string | null | undefined, string | null>;
      created_by: string | null;
      created_at: Generated<Date>;
      ends_by: Date;
      finished_at: ColumnType<Date | null, never, Date | null>;
      previous: ColumnType<number | null, never, number | null>;
      watched_until: ColumnType<Date | null, never, Date | null>;
      is_rollback: Generated<boolean>;
      staged_env: Json<EnvChanges> | null;
    };
    app_instances: {
      machine_id: string;
      app_id: string;
      release: number;
      group_name: string;
      number: number;
      state: (typeof instanceStates)[number];
      drains_until: ColumnType<Date | null, never, Date | null>;
      serving_since: ColumnType<Date | null, never, Date | null>;
      fault: ColumnType<string | null, never, string | null>;
      fault_count: Generated<number>;
      created_at: Generated<Date>;
    };
    routes: {
      id: string;
      app_id: string;
      subdomain: string;
      path_prefix: string;
      group_name: string;
      port: number | null;
      strip_prefix: boolean;
      sticky: boolean;
      rate_limit: number | null;
      concurrency: number | null;
      created_at: Generated<Date>;
    };
    tcp_ports: {
      port: number;
      app_id: string;
      group_name: string;
      created_at: Generated<Date>;
    };
    route_traffic: {
      app_id: string;
      route_id: string;
      counted_at: Date;
      times: number[];
      client_errors: number;
      server_errors: number;
    };
    app_traffic: {
      app_id: string;
      counted_at: Date;
      group_name: string;
      release: number;
      requests: number;
      client_errors: number;
      server_errors: number;
      received_bytes: number;
      sent_bytes: number;
    };
    log_forwards: {
      id: string;
      app_id: string | null;
      url: string;
      header_name: string | null;
      header_secret: string | null;
      created_at: Generated<Date>;
      fault: string | null;
      fault_since: Date | null;
    };
    log_cursors: {
      forward_id: string;
      app_id: string;
      machine_id: string;
      place: string;
      is_done: boolean;
    };
    ended_instances: {
      machine_id: string;
      app_id: string;
      release: number;
      group_name: string;
      number: number;
      host_id: string;
      secrets: Json<readonly ShownSecret[]> | null;
      created_at: Date;
      ended_at: Generated<Date>;
    };
  }
}

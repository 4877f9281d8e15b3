// Requests of E2B's clients that come before a build begins, and their accesses to sandboxes.

import type { ColumnType, Generated } from "kysely";
import type { Json } from "./columns.ts";

declare module "../database.ts" {
  interface Tables {
    e2b_builds: {
      id: string;
      org_id: string;
      name: string;
      tags: Json<readonly string[]>;
      /** The size that its sandboxes get; null for the default. */
      size: string | null;
      /** Its steps, once they have come, as E2B's clients send them. */
      body: ColumnType<unknown, string | null | undefined, string | null>;
      /** Why it was not begun. */
      fault: ColumnType<
        { readonly message: string; readonly instruction: number | null } | null,
        string | null | undefined,
        string
      >;
      created_at: Generated<Date>;
    };
    e2b_archive_chunks: {
      upload: string;
      org_id: string;
      index: number;
      content: Buffer;
      created_at: Generated<Date>;
    };
    /** Access tokens that were given away: with each, URLs of files of its sandbox may be signed. */
    e2b_accesses: {
      sandbox_id: string;
      secret_sha256: string;
      org_id: string;
      /** Digests of the access tokens that were given, the newest first. */
      tokens_sha256: Generated<Buffer[]>;
      noted_at: Generated<Date>;
    };
    /** Those that are there whole. */
    e2b_archives: {
      org_id: string;
      hash: string;
      upload: string;
      created_at: Generated<Date>;
    };
  }
}

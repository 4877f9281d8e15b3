// Keys of what is sealed and what is signed, and credentials of registries.

import type { Generated } from "kysely";

declare module "../database.ts" {
  interface Tables {
    root_keys: {
      id: string;
      number: Generated<string>;
      created_at: Generated<Date>;
    };
    data_keys: {
      owner: string;
      root_key: string;
      wrapped: Buffer;
      created_at: Generated<Date>;
    };
    signing_keys: {
      id: string;
      number: Generated<string>;
      sealed_key: Buffer;
      created_at: Generated<Date>;
    };
    registry_credentials: {
      org_id: string;
      host: string;
      version: number;
      username: string;
      sealed_password: Buffer;
      set_by: string | null;
      set_at: Generated<Date>;
    };
  }
}

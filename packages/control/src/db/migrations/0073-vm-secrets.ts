// Secrets of microVMs: which ones each has in its environment, and the version that it was given last. Null:
// none.

import { machinesView, sandboxesView } from "./0069-vms.ts";

const added = ["owner_kind", "owner_id", "owner_name", "secrets"];

export const vmSecrets = `
alter table vms add column secrets jsonb;
alter table snapshots add column contains_secrets boolean not null default false;
${sandboxesView(added)}
${machinesView(added)}
`;

// MicroVMs that belong to a resource: an app, a database, a run. The version before makes none.

import { machinesView, sandboxesView } from "./0069-vms.ts";

const owner = ["owner_kind", "owner_id", "owner_name"];

export const ownedVms = `
alter table vms
  add column owner_kind text,
  add column owner_id text,
  add column owner_name text,
  add constraint vms_owner_check check ((owner_kind is null) = (owner_id is null));
create index vms_by_owner on vms (owner_kind, owner_id) where owner_kind is not null;
${sandboxesView(owner)}
${machinesView(owner)}
`;

// Console logs that a host keeps after their machines are gone, in groups: those of one organization are a
// group, and take no room from those of others.
//
//   PUT /kept-logs/{group}/{vm}      204; copies what the machine's console has now. It has to be there still
//   GET /kept-logs/{group}/{vm}      TIMED_CONSOLE, from its beginning; 404 `vm_not_found`: none is kept
//
// Bounded for each group and in all, the oldest first. Hosts of versions before do not know these calls.

import { Type } from "typebox";

const Name = Type.String({ pattern: "^[a-z]{3}_[a-z0-9]{1,40}$" });
export const KeptLogParams = Type.Object({ group: Name, vm: Name });

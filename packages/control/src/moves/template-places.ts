// Where VMs of an organization's own template can go: a host without it would run what is there, and could neither start it again nor give its forks the
// template's environment.

import { isId } from "@skerry/contract/ids";
import type { Queries } from "../db/database.ts";
import { hostsOfTemplate } from "../templates/own-templates.ts";

/** Why no VM of this template can go to a host with this id; undefined where one can. `template` is as rows of VMs have it: of a built-in one it is the name. */
export async function templateFaults(
  db: Queries,
  template: string,
): Promise<(hostId: string) => string | undefined> {
  if (!isId("template", template)) return () => undefined;
  const having = new Set(await hostsOfTemplate(db, template));
  return (hostId) => (having.has(hostId) ? undefined : `its template ${template} is not on that host`);
}

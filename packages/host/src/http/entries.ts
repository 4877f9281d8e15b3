// Entries of a guest's file system: told of, made, changed and removed.

import {
  ChangeEntry,
  EntryQuery,
  ListHostQuery,
  MakeDirectoryQuery,
  RemoveEntryQuery,
} from "@skerry/contract/host-api/files";
import { SkerryError } from "@skerry/contract/errors";
import {
  listDirectory,
  makeDirectory,
  moveEntry,
  removeEntry,
  setMode,
  statEntry,
} from "../guest/entries.ts";
import type { Host } from "../app/host.ts";
import { VmParams, type HostServer } from "./conventions.ts";
import { leftBy } from "./left-by.ts";

export function registerEntries(server: HostServer, host: Host): void {
  registerChanges(server, host);
  const { engine } = host;

  server.get(
    "/vms/:id/directory",
    { schema: { params: VmParams, querystring: ListHostQuery } },
    async (request) => {
      const { execution_id, ...params } = request.query;
      using guest = await engine.use(request.params.id, execution_id);
      return await listDirectory(guest.channel, params);
    },
  );

  server.get("/vms/:id/entry", { schema: { params: VmParams, querystring: EntryQuery } }, async (request) => {
    const { execution_id, path, follow } = request.query;
    using guest = await engine.use(request.params.id, execution_id);
    return await statEntry(guest.channel, path, follow);
  });
}

function registerChanges(server: HostServer, { engine }: Host): void {
  server.put(
    "/vms/:id/directory",
    { schema: { params: VmParams, querystring: MakeDirectoryQuery } },
    async (request) => {
      const { execution_id, path, mode } = request.query;
      using guest = await engine.use(request.params.id, execution_id);
      return await makeDirectory(guest.channel, path, mode);
    },
  );

  server.patch(
    "/vms/:id/entry",
    { schema: { params: VmParams, body: ChangeEntry } },
    async (request, reply) => {
      const { execution_id, path, to, mode } = request.body;
      using guest = await engine.use(request.params.id, execution_id);
      if (to !== undefined) return await moveEntry(guest.channel, { path, to, gone: leftBy(reply.raw) });
      if (mode !== undefined) return await setMode(guest.channel, path, mode);
      throw new SkerryError("bad_request", "Neither a path nor a mode is given.");
    },
  );

  server.delete(
    "/vms/:id/entry",
    { schema: { params: VmParams, querystring: RemoveEntryQuery } },
    async (request, reply) => {
      const { execution_id, path, recursive } = request.query;
      using guest = await engine.use(request.params.id, execution_id);
      await removeEntry(guest.channel, { path, recursive, gone: leftBy(reply.raw) });
      return reply.status(204).send();
    },
  );
}

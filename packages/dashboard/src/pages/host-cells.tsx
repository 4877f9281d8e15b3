// A host as a bar of its memory: a cell for each guest of one's own, one for all others, and what is free.

import { skerry } from "../api.ts";
import { useLoaded } from "../live/use-loaded.ts";
import { href } from "../router.ts";
import { may } from "../session.ts";
import { Failure } from "../ui/failure.tsx";
import { toneOf } from "../ui/status-mark.tsx";
import { bytesText, countText, shortId } from "../ui/text.ts";
import type { Host } from "@skerry/sdk";

const MIB = 1024 * 1024;
/** More would be narrower than one can see. */
const CELLS_MAX = 200;
const LOOK_EVERY_MS = 10_000;
/** What holds memory of its host. */
const onHost: ReadonlySet<string> = new Set([
  ...["creating", "running", "pausing", "resuming", "destroying"],
  ...["starting", "stopping", "restarting", "unreachable"],
]);

interface Cell {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly memoryMib: number;
  readonly to: string;
}

export function HostCells({ host }: { readonly host: Host }) {
  const { value: cells, error } = useLoaded(`cells ${host.id}`, (signal) => readCells(host.id, signal), {
    everyMs: LOOK_EVERY_MS,
  });
  if (error !== undefined) return <Failure error={error} />;
  const total = Math.max(host.capacity.memory_mib, host.used.memory_mib, 1);
  const shown = cells ?? [];
  const own = shown.reduce((sum, { memoryMib }) => sum + memoryMib, 0);
  const others = Math.max(0, host.used.memory_mib - own);
  const width = (mib: number) => ({ width: `${(100 * mib) / total}%` });
  return (
    <div class="cells">
      <ul aria-label={`Guests on ${host.name}`}>
        {shown.map(({ id, name, status, memoryMib, to }) => (
          <li key={id} style={width(memoryMib)}>
            <a
              class={`cell tone-${toneOf(status).name}`}
              href={href(to)}
              title={`${name}: ${status}, ${bytesText(memoryMib * MIB)}`}
            >
              <span class="unseen">
                {name}, {status}
              </span>
            </a>
          </li>
        ))}
        {others > 0 && (
          <li style={width(others)} title={`Not shown here: ${bytesText(others * MIB)}`}>
            <span class="cell others">
              <span class="unseen">not shown here</span>
            </span>
          </li>
        )}
      </ul>
      <p class="help">
        {countText(shown.length)} of this organization's
        {others > 0 && `, and ${bytesText(others * MIB)} of what is not shown here`}
      </p>
    </div>
  );
}

async function readCells(host: string, signal: AbortSignal): Promise<readonly Cell[]> {
  const query = { host, alive: true, limit: CELLS_MAX } as const;
  const none = { items: [] };
  const [sizes, sandboxes, machines] = await Promise.all([
    skerry.sizes.list({ signal }),
    may("sandboxes:read") ? skerry.sandboxes.page(query, { signal }) : none,
    may("machines:read") ? skerry.machines.page(query, { signal }) : none,
  ]);
  const memory = new Map(sizes.map(({ name, memory_mib: mib }) => [name as string, mib]));
  const guests = [
    ...sandboxes.items.map(({ info }) => ({ ...info, to: `/sandboxes/${info.id}` })),
    ...machines.items.map((machine) => ({ ...machine, to: `/machines/${machine.id}` })),
  ];
  return guests
    .filter(({ status }) => onHost.has(status))
    .slice(0, CELLS_MAX)
    .map(({ id, name, status, size, to }) => ({
      id,
      name: name ?? shortId(id),
      status,
      memoryMib: memory.get(size) ?? 0,
      to,
    }));
}

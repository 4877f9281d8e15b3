// A host as a bar of its memory: a cell for each guest of one's own, with those that leave and those that are on their way here, one for all others, and
// what is free.

import { skerry } from "../api.ts";
import { useLoaded } from "../live/use-loaded.ts";
import { href } from "../router.ts";
import { may } from "../session.ts";
import { Failure } from "../ui/failure.tsx";
import { toneOf } from "../ui/status-mark.tsx";
import { bytesText, countText, shortId } from "../ui/text.ts";
import type { Host, Move } from "@skerry/sdk";
import type { Size } from "@skerry/contract/sizes";
import { hostName } from "./host-name.ts";

const MIB = 1024 * 1024;
/** More would be narrower than one can see. */
const CELLS_MAX = 200;
const LOOK_EVERY_MS = 10_000;
/** What holds memory of its host. */
const onHost: ReadonlySet<string> = new Set([
  ...["creating", "running", "pausing", "resuming", "destroying"],
  ...["starting", "stopping", "restarting", "unreachable"],
]);

interface Guest {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly size: string;
  readonly to: string;
}

interface Cell {
  readonly id: string;
  readonly text: string;
  /** Classes of its style. */
  readonly look: string;
  readonly memoryMib: number;
  readonly to: string;
}

interface HostCellsProps {
  readonly host: Host;
  readonly sizes: readonly Size[] | undefined;
  /** Under way from here, and to here. */
  readonly leaving: readonly Move[];
  readonly arriving: readonly Move[];
}

export function HostCells({ host, sizes = [], leaving, arriving }: HostCellsProps) {
  const { value: guests, error } = useLoaded(`cells ${host.id}`, (signal) => readGuests(host.id, signal), {
    everyMs: LOOK_EVERY_MS,
  });
  if (error !== undefined) return <Failure error={error} />;
  const total = Math.max(host.capacity.memory_mib, host.used.memory_mib, 1);
  const shown = guests ?? [];
  const memory = new Map(sizes.map(({ name, memory_mib: mib }) => [name, mib]));
  const cells = [
    ...shown.map((guest) => cellOf(guest, memory.get(guest.size) ?? 0, leaving)),
    ...arriving.filter(({ vm_id: id }) => !shown.some((guest) => guest.id === id)).map(arrivingCell),
  ];
  const own = cells.reduce((sum, { memoryMib }) => sum + memoryMib, 0);
  const others = Math.max(0, host.used.memory_mib - own);
  const width = (mib: number) => ({ width: `${(100 * mib) / total}%` });
  return (
    <div class="cells">
      {/* For the pointer alone: a cell may be too narrow to hit, and there may be hundreds to tab through. The list below has them all. */}
      <div class="picture" aria-hidden="true">
        {cells.map(({ id, look, text, memoryMib, to }) => (
          <div key={id} style={width(memoryMib)}>
            <a
              class={`cell ${look}`}
              href={href(to)}
              tabIndex={-1}
              title={`${text}, ${bytesText(memoryMib * MIB)}`}
            />
          </div>
        ))}
        {others > 0 && (
          <div style={width(others)} title={`Not shown here: ${bytesText(others * MIB)}`}>
            <span class="cell others" />
          </div>
        )}
      </div>
      <details class="more">
        <summary>
          Guests on {host.name}: {countText(shown.length)} of this organization's
          {others > 0 && `, and ${bytesText(others * MIB)} of what is not shown here`}
          {arriving.length > 0 && `, ${countText(arriving.length)} on their way here`}
        </summary>
        <ul class="plain" aria-label={`Guests on ${host.name}`}>
          {cells.map(({ id, text, memoryMib, to }) => (
            <li key={id}>
              <a href={href(to)}>{text}</a> <span class="muted">{bytesText(memoryMib * MIB)}</span>
            </li>
          ))}
        </ul>
      </details>
    </div>
  );
}

function cellOf({ id, name, status, to }: Guest, memoryMib: number, leaving: readonly Move[]): Cell {
  const move = leaving.find(({ vm_id: vm }) => vm === id);
  if (move === undefined)
    return { id, memoryMib, to, look: `tone-${toneOf(status).name}`, text: `${name}, ${status}` };
  const text = `${name}, on its way to ${hostName(move.to_host_id)}: ${move.status}`;
  return { id, memoryMib, to, look: "tone-drain leaving", text };
}

/** Its target keeps its memory free. */
function arrivingCell({ vm_id: id, from_host_id: from, status, memory_mib: memoryMib }: Move): Cell {
  const to = id.startsWith("mch_") ? `/machines/${id}` : `/sandboxes/${id}`;
  const text = `${shortId(id)}, on its way from ${hostName(from)}: ${status}`;
  return { id, memoryMib, to, look: "tone-drain arriving", text };
}

async function readGuests(host: string, signal: AbortSignal): Promise<readonly Guest[]> {
  const query = { host, alive: true, limit: CELLS_MAX } as const;
  const none = { items: [] };
  const [sandboxes, machines] = await Promise.all([
    may("sandboxes:read") ? skerry.sandboxes.page(query, { signal }) : none,
    may("machines:read") ? skerry.machines.page(query, { signal }) : none,
  ]);
  const guests = [
    ...sandboxes.items.map(({ info }) => ({ ...info, to: `/sandboxes/${info.id}` })),
    ...machines.items.map((machine) => ({ ...machine, to: `/machines/${machine.id}` })),
  ];
  return guests
    .filter(({ status }) => onHost.has(status))
    .slice(0, CELLS_MAX)
    .map(({ id, name, status, size, to }) => ({ id, name: name ?? shortId(id), status, size, to }));
}

import type { MachineFilter } from "@skerry/sdk";
import { skerry } from "../api.ts";
import { nowMs } from "../clock.ts";
import { useLoaded, type Loaded } from "../live/use-loaded.ts";
import { href } from "../router.ts";
import { may } from "../session.ts";
import { Failure } from "../ui/failure.tsx";
import { Panel } from "../ui/panel.tsx";
import { StatusMark } from "../ui/status-mark.tsx";
import { countText } from "../ui/text.ts";
import { Why } from "../why/why.tsx";
import { needsOf, type Found } from "./needs.ts";

const LOOK_EVERY_MS = 10_000;
const HOSTS_MAX = 500;
const MACHINES_MAX = 20;
const BUILDS_MAX = 100;
const SHOWN_MAX = 20;

export const useNeeds = (): Loaded<Found> => useLoaded("needs", readFound, { everyMs: LOOK_EVERY_MS });

/** What should be looked at, of what this session may see. */
export function NeedsYou({ found: { value, error, reload } }: { readonly found: Loaded<Found> }) {
  if (error !== undefined) return <Failure error={error} retry={reload} />;
  if (value === undefined) return null;
  const needs = needsOf(value, nowMs.value);
  if (needs.length === 0) return <p class="muted">● Nothing needs you.</p>;
  const beyond = needs.length - SHOWN_MAX;
  return (
    <Panel title={needs.length === 1 ? "1 needs you" : `${countText(needs.length)} need you`}>
      <ul class="plain" aria-label="What needs you">
        {needs.slice(0, SHOWN_MAX).map((need) => (
          <li key={`${need.kind} ${need.name} ${need.text}`}>
            {need.to === null ? need.name : <a href={href(need.to)}>{need.name}</a>}{" "}
            <StatusMark status={need.status} /> <span class="muted">{need.text}</span>{" "}
            {"of" in need && <Why kind={need.kind} of={need.of} />}
          </li>
        ))}
      </ul>
      {beyond > 0 && <p class="help">And {countText(beyond)} more.</p>}
    </Panel>
  );
}

async function readFound(signal: AbortSignal): Promise<Found> {
  const none = { items: [] };
  const machinesOf = (filter: MachineFilter) =>
    may("machines:read") ? skerry.machines.page({ ...filter, limit: MACHINES_MAX }, { signal }) : none;
  const [hosts, machines, looping, unhealthy, builds, services, status] = await Promise.all([
    may("hosts:read") ? skerry.hosts.page({ limit: HOSTS_MAX }, { signal }) : none,
    machinesOf({ status: "failed" }),
    machinesOf({ crashLoop: true }),
    machinesOf({ unhealthy: true }),
    may("templates:read") ? skerry.builds.page({ limit: BUILDS_MAX }, { signal }) : none,
    may("metrics:read") ? skerry.backgroundServices.list({ signal }) : [],
    may("hosts:read") ? skerry.status({ signal }) : { last_backup: null },
  ]);
  return {
    ...{ hosts: hosts.items, machines: machines.items, looping: looping.items, builds: builds.items },
    ...{ unhealthy: unhealthy.items.filter(({ health }) => health?.status === "failing") },
    ...{ services, lastBackup: status.last_backup ?? null },
  };
}

// One host: its state, its guests as cells, what it has promised and used, and its drain with what travels.

import type { Host, Move } from "@skerry/sdk";
import type { Size } from "@skerry/contract/sizes";
import { skerry } from "../api.ts";
import { resources } from "../live/resources.ts";
import { href } from "../router.ts";
import { Action } from "../ui/action.tsx";
import { command } from "../ui/copy-as.tsx";
import { Facts, Panel } from "../ui/panel.tsx";
import { StatusMark } from "../ui/status-mark.tsx";
import { bytesText, countText, durationText, shortId } from "../ui/text.ts";
import { When } from "../ui/when.tsx";
import { Why } from "../why/why.tsx";
import { Bar } from "./bar.tsx";
import { UsedBar } from "./capacity.tsx";
import { drainOf, isUnderWay, type Drain } from "./drain.ts";
import { HostCells } from "./host-cells.tsx";
import { hostName } from "./host-name.ts";
import { fitsText, whatFits } from "./room.ts";
import { requestOf } from "../ui/request-of.ts";

const MIB = 1024 * 1024;

interface HostPanelProps {
  readonly host: Host;
  /** Of every host. */
  readonly moves: readonly Move[];
  readonly sizes: readonly Size[] | undefined;
}

export function HostPanel({ host, moves, sizes }: HostPanelProps) {
  const { capacity, used, versions } = host;
  const underWay = moves.filter(isUnderWay);
  const leaving = underWay.filter(({ from_host_id: from }) => from === host.id);
  const arriving = underWay.filter(({ to_host_id: to }) => to === host.id);
  const drain = drainOf(host, moves);
  return (
    <Panel title={host.name} actions={<HostActions host={host} />}>
      <p>
        <StatusMark status={host.status} /> <Why kind="host" of={host} />
        <span class="muted">
          {" "}
          <When at={host.status_since} /> · {host.accelerator ?? "not heard of yet"} · QEMU{" "}
          {versions.qemu ?? "–"} · heard of <When at={host.last_heartbeat} />
        </span>
      </p>
      {drain !== undefined && <p role="status">{drainText(drain)}</p>}
      {host.waits_for !== null && <p class="reason">{host.waits_for}</p>}
      <HostCells {...{ host, sizes, leaving, arriving }} />
      <Bar
        name="Memory promised"
        used={used.memory_mib}
        of={capacity.memory_mib}
        text={(mib) => bytesText(mib * MIB)}
      />
      <Bar name="vCPUs promised" used={used.vcpus} of={capacity.vcpus} text={countText} />
      <UsedBar hosts={[host]} />
      <Facts
        facts={[
          ["Guests", <a href={href(`/sandboxes?host=${host.id}`)}>{countText(used.vms)}</a>],
          ["Still fits", sizes === undefined ? null : fitsText(whatFits([host], sizes))],
        ]}
      />
      {leaving.length > 0 && (
        <ul class="plain" aria-label={`Leaving ${host.name}`}>
          {leaving.map((move) => (
            <Travelling key={move.id} move={move} />
          ))}
        </ul>
      )}
    </Panel>
  );
}

function drainText({ left, travelling, done, aboutMs }: Drain): string {
  const about = aboutMs === undefined ? "" : `; about ${durationText(aboutMs)} at the pace so far`;
  return `${countText(left)} left: ${countText(travelling)} on their way, ${countText(left - travelling)} still wait. ${countText(done)} arrived so far${about}.`;
}

const paths: Readonly<Record<string, string>> = { sbx: "/sandboxes/", mch: "/machines/" };

function Travelling({ move }: { readonly move: Move }) {
  const path = paths[move.vm_id.slice(0, 3)];
  const id = <code>{shortId(move.vm_id)}</code>;
  return (
    <li>
      {path === undefined ? id : <a href={href(path + move.vm_id)}>{id}</a>}{" "}
      <StatusMark status={move.status} /> → {hostName(move.to_host_id)} <Why kind="move" of={move} />{" "}
      <span class="muted">
        {move.memory_mib > 0 && `${bytesText(move.memory_mib * MIB)} of memory, `}
        <When at={move.status_since} />
      </span>
    </li>
  );
}

function HostActions({ host: { id, name, desired } }: { readonly host: Host }) {
  const act = (verb: "drain" | "activate") => ({
    of: name,
    needs: "hosts:write" as const,
    request: requestOf(`${verb}Host`, { at: [id], cli: command(`skerry host ${verb}`, id) }),
    run: async () => void resources.host.put(await skerry.hosts[verb](id)),
  });
  return desired === "active" ? (
    <Action
      label="Drain"
      confirm={`${name} gets nothing new, and what runs there moves to other hosts.`}
      {...act("drain")}
    />
  ) : (
    <Action label="Activate" {...act("activate")} />
  );
}

// Where capacity goes: a host is a bar, what it has promised is filled, and what travels is told below it.

import type { Host, Move } from "@skerry/sdk";
import { skerry } from "../api.ts";
import { useList } from "../live/use-list.ts";
import { Action } from "../ui/action.tsx";
import { CopyAs } from "../ui/copy-as.tsx";
import { Failure } from "../ui/failure.tsx";
import { Empty, Loading, Page } from "../ui/page.tsx";
import { Facts, Panel } from "../ui/panel.tsx";
import { StatusMark } from "../ui/status-mark.tsx";
import { bytesText, countText, shortId } from "../ui/text.ts";
import { When } from "../ui/when.tsx";
import { Why } from "../ui/why.tsx";
import { resources } from "../live/resources.ts";
import { href } from "../router.ts";
import { HostCells } from "./host-cells.tsx";

const MIB = 1024 * 1024;
const SHOWN_MAX = 500;

export function View() {
  const hosts = useList({
    kind: "host",
    key: "all",
    takes: () => true,
    load: (cursor, signal) => skerry.hosts.page({ limit: SHOWN_MAX, cursor }, { signal }),
  });
  const moves = useList({
    kind: "move",
    key: "all",
    takes: () => true,
    load: (cursor, signal) => skerry.moves.page({ limit: SHOWN_MAX, cursor }, { signal }),
  });
  const shown = hosts.rows.flatMap(({ value }) => (value === null ? [] : [value]));
  const travelling = moves.rows.flatMap(({ value }) => (value === null || isOver(value) ? [] : [value]));
  const request = { method: "GET", path: "/v1/hosts", cli: "skerry host list" } as const;
  return (
    <Page title="Hosts" name="Hosts" actions={<CopyAs request={request} />}>
      {hosts.error !== undefined && <Failure error={hosts.error} retry={hosts.reload} />}
      {hosts.isLoading && shown.length === 0 && <Loading />}
      {!hosts.isLoading && hosts.error === undefined && shown.length === 0 && (
        <Empty what="There are no hosts." command="skerry host token" />
      )}
      {hosts.newer + moves.newer > 0 && (
        <button
          type="button"
          class="newer"
          onClick={() => {
            hosts.reload();
            moves.reload();
          }}
        >
          {countText(hosts.newer + moves.newer)} new
        </button>
      )}
      {shown.map((host) => (
        <HostPanel
          key={host.id}
          host={host}
          moves={travelling.filter(({ from_host_id: from }) => from === host.id)}
        />
      ))}
    </Page>
  );
}

function isOver({ status }: Move): boolean {
  return status !== "preparing" && status !== "sending" && status !== "resuming" && status !== "canceling";
}

function HostPanel({ host, moves }: { readonly host: Host; readonly moves: readonly Move[] }) {
  const { capacity, used, versions } = host;
  const fits = Math.max(
    0,
    Math.min(capacity.vcpus - used.vcpus, Math.floor((capacity.memory_mib - used.memory_mib) / 256)),
  );
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
      {host.waits_for !== null && <p class="reason">{host.waits_for}</p>}
      <HostCells host={host} />
      <Bar
        name="Memory promised"
        used={used.memory_mib}
        of={capacity.memory_mib}
        text={(mib) => bytesText(mib * MIB)}
      />
      <Bar name="vCPUs promised" used={used.vcpus} of={capacity.vcpus} text={countText} />
      <Facts
        facts={[
          ["Guests", <a href={href(`/sandboxes?host=${host.id}`)}>{countText(used.vms)}</a>],
          ["Still fits", `${countText(fits)} × 1 vCPU, 256 MiB`],
        ]}
      />
      {moves.length > 0 && (
        <ul class="plain" aria-label={`Leaving ${host.name}`}>
          {moves.map((move) => (
            <li key={move.id}>
              <code>{shortId(move.vm_id)}</code> <StatusMark status={move.status} /> →{" "}
              {nameOf(move.to_host_id)} <Why kind="move" of={move} />{" "}
              <span class="muted">
                <When at={move.status_since} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function nameOf(hostId: string): string {
  return resources.host.find(hostId)?.value?.name ?? shortId(hostId);
}

function HostActions({ host: { id, name, desired } }: { readonly host: Host }) {
  const put = async (changed: Promise<Host>) => void resources.host.put(await changed);
  return desired === "active" ? (
    <Action
      label="Drain"
      needs="hosts:write"
      confirm={`${name} gets nothing new, and what runs there moves to other hosts.`}
      run={() => put(skerry.hosts.drain(id))}
    />
  ) : (
    <Action label="Activate" needs="hosts:write" run={() => put(skerry.hosts.activate(id))} />
  );
}

interface BarProps {
  readonly name: string;
  readonly used: number;
  readonly of: number;
  readonly text: (value: number) => string;
}

function Bar({ name, used, of, text }: BarProps) {
  return (
    <div class="bar">
      <span>{name}</span>
      <meter value={used} max={Math.max(of, 1)} high={of * 0.9} aria-label={name} />
      <span class="muted">
        {text(used)} of {text(of)}
      </span>
    </div>
  );
}

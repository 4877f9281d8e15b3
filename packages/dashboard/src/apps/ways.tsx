// The ways of requests: from addresses to groups, to instances, to hosts.

import type { App, Machine, Release, Route } from "@skerry/sdk";
import type { ComponentChildren } from "preact";
import { skerry } from "../api.ts";
import { useLoaded } from "../live/use-loaded.ts";
import { href } from "../router.ts";
import { Panel } from "../ui/panel.tsx";
import { StatusMark } from "../ui/status-mark.tsx";
import { shortId } from "../ui/text.ts";
import { collected } from "./collected.ts";

const EVERY_MS = 3_000;

interface WaysProps {
  readonly app: App;
  /** The release that is live, where one is. */
  readonly live: Release | undefined;
  readonly children: ComponentChildren;
}

export function Ways({ app, live, children }: WaysProps) {
  const routes = useLoaded(
    `routes of ${app.id}`,
    (signal) => collected(skerry.apps.routes(app.id, { signal })),
    {
      everyMs: EVERY_MS,
    },
  );
  const machines = useLoaded(
    `machines of ${app.id}`,
    (signal) => collected(skerry.machines.list({ owner: `app:${app.id}` }, { signal })),
    { everyMs: EVERY_MS },
  );
  const groups = groupsOf(app, live);
  if (groups.length === 0) return null;
  return (
    <Panel title="Requests and instances">
      <ul class="ways">
        {groups.map((group) => (
          <li key={group}>
            <Addresses addresses={addressesOf(app, live, { group, routes: routes.value ?? [] })} />
            <strong>{group}</strong>
            <Instances app={app} group={group} machines={machines.value ?? []} />
          </li>
        ))}
      </ul>
      {children}
    </Panel>
  );
}

function Addresses({ addresses }: { readonly addresses: readonly string[] }) {
  if (addresses.length === 0) return <span class="muted">no address</span>;
  return (
    <ul class="plain">
      {addresses.map((one) => (
        <li key={one}>
          <code>{one}</code>
        </li>
      ))}
    </ul>
  );
}

interface InstancesProps {
  readonly app: App;
  readonly group: string;
  readonly machines: readonly Machine[];
}

function Instances({ app, group, machines }: InstancesProps) {
  const found = app.instances.filter(({ name }) => name.startsWith(`${group}.`));
  if (found.length === 0) return <span class="muted">no instance</span>;
  return (
    <ul class="plain">
      {found.map(({ machine_id: id, name, release, state, fault }) => {
        const host = machines.find((one) => one.id === id)?.host_id ?? null;
        return (
          <li key={id}>
            <a href={href(`/machines/${id}`)}>{name}</a> <StatusMark status={state} />{" "}
            <span class="muted">
              release {release}
              {host !== null && ` · on ${shortId(host)}`}
              {fault !== null && ` · ${fault}`}
            </span>
          </li>
        );
      })}
    </ul>
  );
}

/** Those of the live release first, and those that still have instances. */
function groupsOf({ instances }: App, live: Release | undefined): string[] {
  const ofRelease = Object.keys(live?.manifest.processes ?? {});
  const ofInstances = instances.map(({ name }) => name.slice(0, name.lastIndexOf(".")));
  return [...new Set([...ofRelease, ...ofInstances])];
}

function addressesOf(
  { host, ports }: App,
  live: Release | undefined,
  { group, routes }: { readonly group: string; readonly routes: readonly Route[] },
): string[] {
  const first = live?.manifest.services?.find(({ protocol }) => protocol !== "tcp");
  const isOwn = first?.group === group && !routes.some((one) => one.host === host && one.path_prefix === "/");
  const asked = routes.filter((one) => one.group === group).map((one) => `${one.host}${one.path_prefix}`);
  const ofTcp = ports.filter((one) => one.group === group).map(({ port }) => `TCP port ${port}`);
  return [...(isOwn && host !== null ? [`${host}/`] : []), ...asked, ...ofTcp];
}

// What the page of a sandbox or a machine asks the server for, tab by tab, as one would ask for it elsewhere.

import type { EgressRequest } from "@skerry/sdk";
import { query } from "../router.ts";
import { call, callForEach, command, withQuery, type RequestWords } from "../ui/copy-as.tsx";
import type { VmKind } from "./vm-kind.ts";

export const METRICS_STEP_S = 60;
export const CONSOLE_LINES = 500;
const FIRST_DIRECTORY = "/root";

/** Of the address: the directory that is shown. */
export function shownDirectory(): string {
  return query.value.get("path") ?? FIRST_DIRECTORY;
}

/** Of a tab that asks for nothing by itself, the request of the page. */
export function tabRequest(kind: VmKind, id: string, tab: string): RequestWords {
  if (tab === "snapshots") return snapshotsRequest(kind.noun);
  if (tab === "files") return filesRequest(kind, id, shownDirectory());
  if (tab === "metrics") return reading(kind, id, "metrics", { step: `${METRICS_STEP_S}s` });
  if (tab === "console") return reading(kind, id, "logs", { lines: CONSOLE_LINES });
  if (tab === "ports" || tab === "egress" || tab === "events" || tab === "restarts")
    return reading(kind, id, tab);
  return {
    method: "GET",
    path: `/v1${kind.path}/${id}`,
    cli: command(`skerry ${kind.noun} get`, id),
    typescript: call(`${kind.path.slice(1)}.get`, id),
  };
}

export function snapshotsRequest(of?: VmKind["noun"]): RequestWords {
  const filter = of === undefined ? {} : { of };
  return {
    method: "GET",
    path: withQuery("/v1/snapshots", filter),
    cli: command("skerry snapshot list", ...(of === undefined ? [] : ["--of", of])),
    typescript: callForEach("snapshots.list", "snapshot", filter),
  };
}

/** The path, the command and the method have one name, and their fields too. */
function reading(
  { noun, path }: VmKind,
  id: string,
  name: string,
  fields: Readonly<Record<string, string | number>> = {},
): RequestWords {
  const flags = Object.entries(fields).flatMap(([field, value]) => [`--${field}`, String(value)]);
  return {
    method: "GET",
    path: withQuery(`/v1${path}/${id}/${name}`, fields),
    cli: command(`skerry ${noun} ${name}`, id, ...flags),
    typescript: call(`${path.slice(1)}.${name}`, id, fields),
  };
}

function filesRequest({ noun, path }: VmKind, id: string, directory: string): RequestWords {
  const encoded = directory.split("/").map(encodeURIComponent).join("/");
  return {
    method: "GET",
    path: withQuery(`/v1${path}/${id}/files${encoded}`, { list: true }),
    cli: command(`skerry ${noun} ls`, id, directory),
    typescript: call(`${path.slice(1)}.listDirectory`, id, directory),
  };
}

/** Rules that take the place of those in force, where these still have that version. */
export function egressRequest(
  { noun, path }: VmKind,
  id: string,
  policy: EgressRequest,
  ifVersion: number,
): RequestWords {
  const { mode, allow_cidrs = [], deny_cidrs = [], allow_ports = [], dns } = policy;
  return {
    method: "PUT",
    path: `/v1${path}/${id}/egress`,
    json: policy,
    ifVersion,
    cli: command(
      `skerry ${noun} egress`,
      id,
      ...(mode === undefined ? [] : ["--egress-mode", mode]),
      ...allow_cidrs.flatMap((cidr) => ["--egress-allow-cidr", cidr]),
      ...deny_cidrs.flatMap((cidr) => ["--egress-deny-cidr", cidr]),
      ...allow_ports.flatMap((port) => ["--egress-allow-port", String(port)]),
      ...(dns === undefined ? [] : [dns ? "--egress-dns" : "--no-egress-dns"]),
      "--if-version",
      String(ifVersion),
    ),
    typescript: call(`${path.slice(1)}.setEgress`, id, policy, { ifVersion }),
  };
}

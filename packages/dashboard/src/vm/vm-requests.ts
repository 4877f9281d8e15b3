// What the page of a sandbox or a machine asks the server for, tab by tab, as one would ask for it elsewhere.

import type { EgressRequest } from "@skerry/sdk";
import { query } from "../router.ts";
import { call, command, withQuery, type RequestWords } from "../ui/copy-as.tsx";
import type { VmKind } from "./vm-kind.ts";
import { requestOf } from "../ui/request-of.ts";

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
  return requestOf("listSnapshots", {
    query: filter,
    cli: command("skerry snapshot list", ...(of === undefined ? [] : ["--of", of])),
  });
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

/** What is done with it: the path, the command and the method have one name. */
export function deed({ noun, path }: VmKind, id: string, name: string): RequestWords {
  return {
    method: "POST",
    path: `/v1${path}/${id}/${name}`,
    cli: command(`skerry ${noun} ${name}`, id),
    typescript: call(`${path.slice(1)}.${name}`, id),
  };
}

export function takeSnapshot(kind: VmKind, id: string): RequestWords {
  return { ...deed(kind, id, "snapshot"), path: `/v1${kind.path}/${id}/snapshots`, json: {} };
}

export function destroyRequest({ noun, path }: VmKind, id: string): RequestWords {
  return {
    method: "DELETE",
    path: `/v1${path}/${id}`,
    cli: command(`skerry ${noun} destroy`, id),
    typescript: call(`${path.slice(1)}.destroy`, id),
  };
}

function filesRequest({ noun, path }: VmKind, id: string, directory: string): RequestWords {
  return {
    method: "GET",
    path: withQuery(`/v1${path}/${id}/files${encoded(directory)}`, { list: true }),
    cli: command(`skerry ${noun} ls`, id, directory),
    typescript: call(`${path.slice(1)}.listDirectory`, id, directory),
  };
}

export function downloadRequest({ noun, path }: VmKind, id: string, file: string): RequestWords {
  return {
    method: "GET",
    path: `/v1${path}/${id}/files${encoded(file)}`,
    cli: command(`skerry ${noun} download`, id, file),
    typescript: call(`${path.slice(1)}.download`, id, file),
  };
}

/** `local`: the name of a file of the person's own machine, in the directory that the request is sent from. */
export function uploadRequest(
  { noun, path }: VmKind,
  id: string,
  { local, file }: { readonly local: string; readonly file: string },
): RequestWords {
  const [at, from] = [JSON.stringify(file), JSON.stringify(`./${local}`)];
  return {
    method: "PUT",
    path: `/v1${path}/${id}/files${encoded(file)}`,
    file: `./${local}`,
    cli: command(`skerry ${noun} upload`, id, `./${local}`, file),
    typescript:
      'import { readFile } from "node:fs/promises";\n' +
      `await skerry.${path.slice(1)}.upload(${JSON.stringify(id)}, ${at}, await readFile(${from}));`,
  };
}

export function removeRequest(
  { noun, path }: VmKind,
  id: string,
  { file, recursive }: { readonly file: string; readonly recursive: boolean },
): RequestWords {
  const args = [file, ...(recursive ? [{ recursive }] : [])].map((one) => JSON.stringify(one)).join(", ");
  return {
    method: "DELETE",
    path: withQuery(`/v1${path}/${id}/files${encoded(file)}`, recursive ? { recursive } : {}),
    cli: command(`skerry ${noun} file rm`, id, file, ...(recursive ? ["--recursive"] : [])),
    typescript: `await skerry.${path.slice(1)}.files(${JSON.stringify(id)}).remove(${args});`,
  };
}

const encoded = (file: string): string => file.split("/").map(encodeURIComponent).join("/");

export function portRequest(
  { noun, path }: VmKind,
  id: string,
  { port, isPublic }: { readonly port: number; readonly isPublic: boolean },
): RequestWords {
  return {
    method: "PATCH",
    path: `/v1${path}/${id}/ports/${port}`,
    json: { public: isPublic },
    cli: command(`skerry ${noun} ports`, id, isPublic ? "--public" : "--private", String(port)),
    typescript: call(`${path.slice(1)}.setPortPublic`, id, port, isPublic),
  };
}

export function portUrlRequest(
  { noun, path }: VmKind,
  id: string,
  { port, expiresIn }: { readonly port: number; readonly expiresIn: string },
): RequestWords {
  return {
    method: "POST",
    path: `/v1${path}/${id}/urls`,
    json: { port, expires_in: expiresIn },
    cli: command(`skerry ${noun} url`, id, String(port), "--expires-in", expiresIn),
    typescript: call(`${path.slice(1)}.signPortUrl`, id, port, { expiresIn }),
  };
}

/** Rules that take the place of those in force, where these still have that version. */
export function egressRequest(
  { noun, path }: VmKind,
  id: string,
  policy: EgressRequest,
  ifVersion: number,
): RequestWords {
  const { mode, allow_cidrs = [], deny_cidrs = [], allow_ports = [], dns, ...domains } = policy;
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
      ...(domains.allow_domains ?? []).flatMap((name) => ["--egress-allow-domain", name]),
      ...(domains.deny_domains ?? []).flatMap((name) => ["--egress-deny-domain", name]),
      ...(dns === undefined ? [] : [dns ? "--egress-dns" : "--no-egress-dns"]),
      "--if-version",
      String(ifVersion),
    ),
    typescript: call(`${path.slice(1)}.setEgress`, id, policy, { ifVersion }),
  };
}

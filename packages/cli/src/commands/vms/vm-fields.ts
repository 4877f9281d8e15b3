// A sandbox or a machine as `show` has it: every field that has something to say, in words.

import type { WaitsFor } from "@skerry/contract/waits-for";
import { waitText } from "../../output/wait-text.ts";
import type { Egress, Machine, SandboxInfo } from "@skerry/sdk";
import { relativeTime } from "../../output/relative-times.ts";

type Value = string | number | boolean | null | undefined | object;
type Fields = readonly (readonly [name: string, value: string])[];

export function describedFields(info: SandboxInfo | Machine): Fields {
  const fields: [string, Value][] = Object.entries(info);
  return fields
    .map(([name, value]) => [name, valueText(name, value)] as const)
    .filter(([, text]) => text !== "");
}

function valueText(name: string, value: Value): string {
  if (value === null || value === undefined) return "";
  if (name === "waits_for") return waitText(value as WaitsFor);
  if (name === "egress") return egressText(value as Egress);
  if (name === "secrets") return (value as Machine["secrets"]).map(secretText).join(", ");
  if (typeof value === "string") return name.endsWith("_at") ? `${value} (${relativeTime(value)})` : value;
  if (typeof value !== "object") return String(value);
  if (name === "health") return healthText(value as NonNullable<Machine["health"]>);
  if (name === "pending") return pendingText(value as NonNullable<Machine["pending"]>);
  // Values that are kept from the caller are null; a number of retries that is null has no end.
  return Object.entries(value)
    .map(([key, one]) => (one === null ? noValueText(key) : `${key}=${String(one)}`))
    .join(", ");
}

function healthText({ status, since, reason }: NonNullable<Machine["health"]>): string {
  return `${status} since ${relativeTime(since)}${reason === null ? "" : `: ${reason}`}`;
}

function pendingText({ env, ...others }: NonNullable<Machine["pending"]>): string {
  const texts = Object.entries(others).map(([name, value]) => `${name}=${value ?? "none"}`);
  return [...texts, ...(env === undefined ? [] : [`env: ${valueText("env", env) || "none"}`])].join(", ");
}

function secretText({ name, as, version, given_at }: Machine["secrets"][number]): string {
  const title = as === name ? name : `${name} as ${as}`;
  if (version === null) return `${title} (deleted)`;
  return `${title} (version ${version}${given_at === null ? "" : `, ${relativeTime(given_at)}`})`;
}

/** Of the environment only the names are told. */
function noValueText(key: string): string {
  return key === "max_retries" ? `${key}=unlimited` : key;
}

function egressText({ mode, allow_cidrs, deny_cidrs, allow_ports, dns, ...names }: Egress): string {
  const parts: readonly (readonly [title: string, values: readonly (string | number)[]])[] = [
    ["allowed", allow_cidrs],
    ["ports", allow_ports],
    ["denied", deny_cidrs],
    ["domains", names.allow_domains ?? []],
    ["denied domains", names.deny_domains ?? []],
  ];
  return [
    mode,
    ...parts
      .filter(([, values]) => values.length > 0)
      .map(([title, values]) => `${title} ${values.join(" ")}`),
    dns ? "DNS" : "no DNS",
  ].join(", ");
}

// Audit events as lines of CSV. Pure. What is in a cell may be written by whoever runs commands in a sandbox, and is read by an admin's spreadsheet.

import type { AuditEvent } from "@skerry/contract/audit/audit-event";

const columns: Readonly<Record<string, (event: AuditEvent) => string | number | null>> = {
  id: ({ id }) => id,
  at: ({ at }) => at,
  actor_kind: ({ actor }) => actor.kind,
  user_id: ({ actor }) => actor.user_id,
  token_id: ({ actor }) => actor.token_id,
  service: ({ actor }) => actor.service,
  address: ({ actor }) => actor.address,
  action: ({ action }) => action,
  resource_kind: ({ resource }) => resource.kind,
  resource_id: ({ resource }) => resource.id,
  detail: ({ detail }) => detail,
  outcome: ({ outcome }) => outcome,
  code: ({ code }) => code,
  count: ({ count }) => count,
  request_id: ({ request_id }) => request_id,
  organization_id: ({ organization_id }) => organization_id,
  user_name: ({ actor }) => actor.user_name,
  token_name: ({ actor }) => actor.token_name,
  resource_name: ({ resource }) => resource.name,
};

export const CSV_HEADER = `${Object.keys(columns).join(",")}\r\n`;

export function csvLine(event: AuditEvent): string {
  return lineOf(Object.values(columns).map((valueOf) => valueOf(event)));
}

function lineOf(values: readonly (string | number | null)[]): string {
  return `${values.map(cellOf).join(",")}\r\n`;
}

/** Spreadsheets run a cell that begins so, in their own width or that of Chinese and Japanese text, also after a quote and after spaces. */
const FORMULA = /^\s*[=+\-@\uff0b\uff0d\uff1d\uff20]/u;
/** What a terminal obeys, and what ends a line. */
const CONTROL = /[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

function cellOf(value: string | number | null): string {
  if (typeof value !== "string") return value === null ? "" : String(value);
  const text = value.replaceAll(CONTROL, escaped);
  const harmless = FORMULA.test(text) ? `'${text}` : text;
  return /[",']/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code < 0x100
    ? `\\x${code.toString(16).padStart(2, "0")}`
    : `\\u${code.toString(16).padStart(4, "0")}`;
}

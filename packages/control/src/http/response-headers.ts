// What every answer tells a browser, also unasked: our answers are data for programs, and a browser must do nothing with
// them beyond that.

import type { IncomingMessage, ServerResponse } from "node:http";
import { TLSSocket } from "node:tls";
import { SERVER_VERSION } from "@skerry/contract/server-version";
import packageJson from "../../package.json" with { type: "json" };

const always = {
  // Answers hold tokens, environments and files.
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  // So that a client which is newer can say what its call failed with.
  [SERVER_VERSION]: packageJson.version,
} as const;

const entries = Object.entries(always);

/** A year, as browsers ask for; not for subdomains, which are none of our business. */
const HSTS = "max-age=31536000";

export function setResponseHeaders(request: IncomingMessage, response: ServerResponse): void {
  for (const [name, value] of entries) response.setHeader(name, value);
  // Over plain HTTP the header means nothing, and behind a proxy it is the proxy's to say.
  if (request.socket instanceof TLSSocket) response.setHeader("strict-transport-security", HSTS);
}

/** The same for an answer that is written by hand. */
export const responseHeaderLines = entries.map(([name, value]) => `${name}: ${value}\r\n`).join("");

// Page in the place of a guest's page, for a browser to which the port has no origin of its own: scripts,
// styles and requests of most apps do not load there, and the browser shows nothing that says why.

import type { FastifyRequest } from "fastify";
import type { Context } from "../../context.ts";
import { escapeHtml } from "../../http/escape-html.ts";
import { readPort, splitPortUrl } from "./port-path.ts";

type PortRequest = FastifyRequest<{ Params: { id: string; port: string } }>;

/** At the end of the query of a person who wants the page as it is. */
const AS_IT_IS = /[?&]skerry_show=1$/;
const COOKIE = "skerry-port-as-it-is=1";
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

/**
 * A browser that opens a page by itself. Without HTTPS, and elsewhere than on this machine, browsers send no
 * `Sec-Fetch-…`.
 */
export function isVisit({ method, headers }: Pick<FastifyRequest, "method" | "headers">): boolean {
  const { "sec-fetch-mode": mode, "sec-fetch-dest": target = "document" } = headers;
  if (method !== "GET") return false;
  if (mode !== undefined) return mode === "navigate" && target === "document";
  return headers["upgrade-insecure-requests"] === "1" && headers.accept?.includes("text/html") === true;
}

/** Answers in the guest's place. `html` or, once it was seen, `location` with `cookie`. */
type Notice =
  | { readonly html: string; readonly policy: string }
  | { readonly location: string; readonly cookie: string };

/**
 * Undefined where the guest answers itself: a program, a part of a page, a domain of ports, and a person who
 * has seen the notice.
 */
export function noticeOf({ sandboxDomain }: Context, request: PortRequest): Notice | undefined {
  if (sandboxDomain !== undefined || !isVisit(request)) return undefined;
  const { headers, params, raw, protocol } = request;
  const url = raw.url ?? "";
  if (AS_IT_IS.test(url)) {
    const { prefix } = splitPortUrl(url);
    const secure = protocol === "https" ? "; Secure" : "";
    return {
      location: url.replace(AS_IT_IS, ""),
      cookie: `${COOKIE}; Path=${prefix}; HttpOnly; SameSite=Lax${secure}`,
    };
  }
  if (headers.cookie?.split(";").some((one) => one.trim() === COOKIE) === true) return undefined;
  return { html: pageOf(params.id, readPort(params.port), url), policy: POLICY };
}

function pageOf(id: string, port: number, url: string): string {
  const kind = id.startsWith("mch_") ? "machine" : "sandbox";
  const asItIs = escapeHtml(`${url}${url.includes("?") ? "&" : "?"}skerry_show=1`);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>This app needs an address of its own</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem;color-scheme:light dark}code{font-size:.9em}</style>
</head><body>
<h1>This app needs an address of its own</h1>
<p>Port ${port} of <code>${escapeHtml(id)}</code> is shown below the address of the API, where a page has no origin: most apps load
neither their scripts nor their styles here, and cannot log anyone in.</p>
<p>The operator gives every port a name of its own with two settings:</p>
<ul>
<li><code>SKERRY_SANDBOX_DOMAIN</code>: a domain, such as <code>sandboxes.example.net</code>, of which <code>*</code> leads to this server;</li>
<li><code>SKERRY_SANDBOX_TLS_CERT</code> with <code>SKERRY_SANDBOX_TLS_KEY</code>: a certificate for <code>*.sandboxes.example.net</code>.</li>
</ul>
<p>Until then <code>skerry ${kind} forward ${escapeHtml(id)} ${port}</code> brings the app to <code>localhost</code> on your own machine, whole.</p>
<p><a href="${asItIs}" rel="noreferrer">Show the page as it is</a></p>
</body></html>
`;
}

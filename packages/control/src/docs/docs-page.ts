// The OpenAPI document as a page for people. Pure: a document in, HTML out, without a script and without anything from elsewhere.

import { Html, html, prose } from "./html.ts";
import { docsStyle } from "./docs-style.ts";

export type Json = Readonly<Record<string, unknown>>;

interface Call extends Json {
  readonly method: string;
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
}

export function docsPage(document: Json): string {
  const schemas = part(part(document, "components"), "schemas");
  const shared = part(part(document, "components"), "responses");
  const calls = callsOf(document);
  const groups = groupsOf(calls, list(document, "tags"));
  const info = part(document, "info");
  return html`<!doctype html>
    <html lang="en">
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <title>${text(info, "title")} API</title>
      ${styleElement()}
      <div class="page">
        ${asides(groups)}
        <main id="top">
          <h1>${text(info, "title")} API</h1>
          ${prose(text(info, "description"))}${introduction()}
          ${groups.map(
            ({ tag, says, calls: own }) =>
              html`<section>
                <h2>${tag}</h2>
                ${prose(says)} ${own.map((call) => article(call, { schemas, shared }))}
              </section>`,
          )}
          <section id="schemas">
            <h2>Schemas</h2>
            ${Object.entries(schemas).map(([name, schema]) => schemaArticle(name, schema as Json))}
          </section>
        </main>
        <a class="up" href="#calls">All calls</a>
      </div>
    </html>`.text;
}

interface Named {
  readonly schemas: Json;
  readonly shared: Json;
}

interface Group {
  readonly tag: string;
  readonly says: string;
  readonly calls: readonly Call[];
}

/** In the order of the document's tags; calls of a tag that it does not describe come last. */
function groupsOf(calls: readonly Call[], described: readonly Json[]): readonly Group[] {
  const says = new Map(described.map((tag) => [text(tag, "name"), text(tag, "description")]));
  const names = new Set([...says.keys(), ...calls.map(tagOf)]);
  return [...names]
    .map((tag) => ({ tag, says: says.get(tag) ?? "", calls: calls.filter((call) => tagOf(call) === tag) }))
    .filter((group) => group.calls.length > 0);
}

/** The same links twice, and the style shows one: what is folded on a phone cannot stand open on a wide screen without a script. */
function asides(groups: readonly Group[]): Html {
  return html`<nav class="wide" aria-label="Calls">${links(groups)}</nav>
    <details class="narrow" id="calls">
      <summary>All calls</summary>
      <nav aria-label="Calls">${links(groups)}</nav>
    </details>`;
}

function links(groups: readonly Group[]): Html {
  return html`<a href="#top"><strong>Introduction</strong></a>
    ${groups.map(
      ({ tag, calls }) =>
        html`<h2>${tag}</h2>
          <ul>
            ${calls.map(
              (call) =>
                html`<li>
                  <a href="#${call.operationId}" title="${call.method.toUpperCase()} ${call.path}"
                    >${call.summary}</a
                  >
                </li>`,
            )}
          </ul>`,
    )}
    <h2>More</h2>
    <ul>
      <li><a href="#schemas">Schemas</a></li>
    </ul>`;
}

function introduction(): Html[] {
  return prose(
    [
      "Every call but those marked public takes a token: `Authorization: Bearer sk_…`, or `X-API-Key: sk_…`. `X-Org-ID` chooses another organization of yours.",
      "Every error has the same shape, with a `code` from a closed list, what was wrong with this request, and what to do about it. `X-Request-Id` is on every answer.",
      "Lists come newest first in pages: send `next_cursor` as `cursor` until it is null. Durations are texts such as `30s`, `10m` or `1h30m`; times are ISO 8601 in UTC.",
      "For programs the same is at `GET /v1/openapi.json`.",
    ].join("\n\n"),
  );
}

function article(call: Call, named: Named): Html {
  const body = part(part(call, "requestBody"), "content");
  const request = nameOf(part(part(body, "application/json"), "schema"));
  return html`<article id="${call.operationId}">
    <h3>${call.summary}</h3>
    <p class="call">
      <code><span class="method ${call.method}">${call.method.toUpperCase()}</span> ${call.path}</code>
    </p>
    ${needs(call)}${prose(text(call, "description"))} ${parameters(list(call, "parameters"))}
    ${
      Object.keys(body).length === 0
        ? undefined
        : html`<h4>Request body</h4>
            ${request === undefined ? prose(`\`${Object.keys(body).join("`, `")}\``) : [link(request), fields(part(named.schemas, request))]}`
    }
    <h4>Example</h4>
    <pre>${curl(call, exampleOf(named.schemas, request))}</pre>
    ${answers(call, named)}
  </article>`;
}

function needs(call: Call): Html {
  if (list(call, "security").length === 0)
    return html`<ul class="tags">
      <li>public</li>
    </ul>`;
  const items = [
    `scope ${text(call, "x-required-scope") || "any"}`,
    `role ${text(call, "x-required-role")}`,
    `counts as ${text(call, "x-rate-class")}`,
  ];
  return html`<ul class="tags">
    ${items.map((item) => html`<li>${item}</li>`)}
  </ul>`;
}

function parameters(all: readonly Json[]): Html | undefined {
  if (all.length === 0) return undefined;
  const rows = all.map((parameter) =>
    row(text(parameter, "name"), html`${typeOf(part(parameter, "schema"))}, ${text(parameter, "in")}`, {
      isRequired: parameter["required"] === true,
      says: text(parameter, "description") || text(part(parameter, "schema"), "description"),
    }),
  );
  return html`<h4>Parameters</h4>
    ${table(rows)}`;
}

function fields(schema: Json): Html {
  return table(fieldRows(schema, ""));
}

/** With those of objects that have no name of their own, as `restart.policy`. */
function fieldRows(schema: Json, before: string): Html[] {
  const required = new Set(list(schema, "required") as unknown as string[]);
  return Object.entries(part(schema, "properties")).flatMap(([name, field]) => [
    row(before + name, typeOf(field as Json), {
      isRequired: required.has(name),
      says: text(field as Json, "description"),
    }),
    ...fieldRows(field as Json, `${before}${name}.`),
    ...fieldRows(part(field as Json, "items"), `${before}${name}[].`),
  ]);
}

function row(name: string, type: Html, { isRequired, says }: { isRequired: boolean; says: string }): Html {
  const must = isRequired ? html` <span class="soft">required</span>` : undefined;
  return html`<tr>
    <td><code>${name}</code>${must}</td>
    <td class="type">${type}</td>
    <td>${prose(says)}</td>
  </tr>`;
}

function table(rows: readonly Html[]): Html {
  return html`<div class="scroll">
    <table>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`;
}

function answers(call: Call, { schemas, shared }: Named): Html {
  const all = Object.entries(part(call, "responses")).map(([status, answer]) => {
    const { $ref: ref } = answer as Json;
    return [status, typeof ref === "string" ? part(shared, lastWord(ref)) : (answer as Json)] as const;
  });
  const good = all.filter(([status]) => status.startsWith("2"));
  const bad = all.filter(([status]) => !status.startsWith("2"));
  const name = nameOf(part(part(part(good[0]?.[1] ?? {}, "content"), "application/json"), "schema"));
  const example = exampleOf(schemas, name);
  return html`<h4>Answer</h4>
    ${good.map(
      ([status, answer]) =>
        html`<p><code>${status}</code> ${name === undefined ? text(answer, "description") : link(name)}</p>`,
    )}${example === undefined ? undefined : html`<pre>${JSON.stringify(example, undefined, 2)}</pre>`}
    <details>
      <summary>Errors</summary>
      ${table(
        bad.map(
          ([status, answer]) =>
            html`<tr>
              <td><code>${status}</code></td>
              <td>${prose(text(answer, "description"))}</td>
            </tr>`,
        ),
      )}
    </details>`;
}

function schemaArticle(name: string, schema: Json): Html {
  return html`<article id="schema-${name}">
    <h3>${name}</h3>
    ${prose(text(schema, "description"))}${fields(schema)}
  </article>`;
}

function curl(call: Call, example: unknown): string {
  const path = call.path
    .replace("{id}", "$ID")
    .replaceAll(/\{(\w+)\}/g, (_, name: string) => `$${name.toUpperCase()}`);
  const lines = [
    `curl ${call.method === "get" ? "" : `-X ${call.method.toUpperCase()} `}"$SKERRY_API_URL${path}"`,
  ];
  if (list(call, "security").length > 0) lines.push('-H "Authorization: Bearer $SKERRY_API_TOKEN"');
  if (example !== undefined)
    lines.push(`-H "Content-Type: application/json"`, `-d '${JSON.stringify(example)}'`);
  return lines.join(" \\\n  ");
}

function typeOf(schema: Json): Html {
  const { $ref: ref, enum: values, type, items } = schema;
  if (typeof ref === "string") return link(lastWord(ref));
  if (Array.isArray(values)) return html`${values.map((value) => `"${String(value)}"`).join(" | ")}`;
  if (Array.isArray(type)) return html`${type.join(" or ")}`;
  if (type === "array") return html`list of ${typeOf((items ?? {}) as Json)}`;
  return html`${typeof type === "string" ? type : "anything"}`;
}

function link(name: string): Html {
  return html`<a href="#schema-${name}">${name}</a>`;
}

function exampleOf(schemas: Json, name: string | undefined): unknown {
  return name === undefined ? undefined : list(part(schemas, name), "examples")[0];
}

function nameOf(schema: Json): string | undefined {
  return typeof schema["$ref"] === "string" ? lastWord(schema["$ref"]) : undefined;
}

function callsOf(document: Json): Call[] {
  return Object.entries(part(document, "paths")).flatMap(([path, methods]) =>
    // The document says so of every operation; a test holds it.
    Object.entries(methods as Json).map(
      ([method, call]) => ({ ...(call as Json), method, path }) as unknown as Call,
    ),
  );
}

function tagOf(call: Call): string {
  const [tag] = list(call, "tags") as readonly unknown[];
  return typeof tag === "string" ? tag : "other";
}

function lastWord(reference: string): string {
  return reference.split("/").at(-1) ?? "";
}

function part(json: Json, key: string): Json {
  return (json[key] ?? {}) as Json;
}

function list(json: Json, key: string): readonly Json[] {
  return (json[key] ?? []) as readonly Json[];
}

function text(json: Json, key: string): string {
  return typeof json[key] === "string" ? json[key] : "";
}

/** Exactly this text: the page's policy names its hash. */
function styleElement(): Html {
  return new Html(`<style>${docsStyle}</style>`);
}

// The page of the API at /docs.

import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { docsPage } from "../src/docs/docs-page.ts";
import { documentedOperations } from "./support/api-document.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();

test("everybody can read the page, and it has every call, with what it needs, takes and answers", async () => {
  const page = await world.call("GET", "/docs", { token: "" });
  expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
  for (const [name] of documentedOperations) expect(page.text, name).toContain(`<article id="${name}">`);
  const [, create = ""] = /<article id="createSandbox">(.*?)<\/article>/s.exec(page.text) ?? [];
  for (const said of [
    "sandboxes:write",
    "role member",
    "Idempotency-Key",
    "no_capacity",
    "-X POST",
    "sbx_01",
  ]) {
    expect(create).toContain(said);
  }
});

test("calls are listed by their deeds, those first that are used most, and folded where the screen is narrow", async () => {
  const { text } = await world.call("GET", "/docs", { token: "" });
  const folded = /<details class="narrow".*?<\/details>/s.exec(text)?.[0] ?? "";
  for (const nav of [/<nav class="wide".*?<\/nav>/s.exec(text)?.[0] ?? "", folded]) {
    const deeds = [...nav.matchAll(/<li>\s*<a [^>]*>([^<]*)<\/a/g)].map(([, deed = ""]) => deed.trim());
    expect(deeds[0]).toBe("Create a sandbox");
    expect(deeds.length).toBe(documentedOperations.length + 1);
  }
  expect(folded).not.toContain(" open");
});

test("the page says the default of a field, also of one within a field", async () => {
  const { text } = await world.call("GET", "/docs", { token: "" });
  const articleOf = (name: string) =>
    new RegExp(`<article id="${name}">(.*?)</article>`, "s").exec(text)?.[1] ?? "";
  expect(articleOf("createSandbox")).toMatch(/<code>timeout<\/code>.*?Default: <code>5m<\/code>/s);
  expect(articleOf("execute")).toMatch(/<code>timeout<\/code>.*?Default: <code>30s<\/code>/s);
  expect(articleOf("createMachine")).toMatch(
    /<code>restart\.policy<\/code>.*?Default: <code>on-failure<\/code>/s,
  );
});

test("the page loads nothing and runs nothing, and a browser is told so", async () => {
  const page = await world.call("GET", "/docs", { token: "" });
  const policy = page.headers.get("content-security-policy") ?? "";
  const [, style = ""] = /<style>(.*?)<\/style>/s.exec(page.text) ?? [];
  const hash = createHash("sha256").update(style).digest("base64");
  expect(policy).toBe(
    `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  );
  expect(page.text).not.toMatch(/<script|<img|<link|<iframe|<form| style=| on\w+=|src=|url\(|@import/);
  const links = [...page.text.matchAll(/href="([^"]*)"/g)].map(([, target = ""]) => target);
  const ids = new Set([...page.text.matchAll(/ id="([^"]*)"/g)].map(([, id = ""]) => `#${id}`));
  expect(links.filter((target) => !ids.has(target))).toEqual([]);
});

test("nothing in the document becomes markup", () => {
  const evil = `<script>alert("1")</script>' onload=x`;
  const page = docsPage({
    info: { title: evil, description: evil },
    components: {
      schemas: { Odd: { description: evil, properties: { [evil]: { type: evil, enum: [evil] } } } },
    },
    paths: {
      "/a": { get: { operationId: "a", tags: [evil], summary: evil, description: evil, responses: {} } },
    },
  });
  expect(page).not.toContain("<script");
  expect(page).not.toContain(`"1"`);
});

// What somebody can do who has a copy of the database: a backup, a replica, a disk. Nothing in it opens anything by itself.

import { createHmac, hkdfSync } from "node:crypto";
import { sql } from "kysely";
import { beforeAll, expect, test } from "vitest";
import { joinProof } from "@skerry/contract/joining/join-request";
import type { JoinTokenParts } from "@skerry/contract/joining/join-token";
import { dump, valuesOf } from "./support/database-dump.ts";
import { createE2bSandbox, nativeId, type E2bSandbox } from "./support/e2b.ts";
import { JoiningHost, newJoinToken } from "./support/joining-host.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
const HASH = "ab".repeat(32);
const ARCHIVE = Buffer.from("an archive");
const EXPIRES_S = Math.floor(Date.now() / 1_000) + 1_800;
const SHADOW = "/etc/shadow";
const REGISTRY_PASSWORD = "dckr_pat_that_opens_a_registry";

/** Everything that a client was given and must keep to itself. */
const given = new Map<string, string>();
let sandbox: E2bSandbox & { readonly trafficAccessToken?: string };
/** One that E2B's clients have nothing to do with. */
let plainId = "";
let secretSha256 = "";
let joinToken: JoinTokenParts;
let dumped = "";

beforeAll(async () => {
  sandbox = await createE2bSandbox(world, { network: { allowPublicTraffic: false } });
  plainId = (await world.createSandbox({ timeout: "1h" })).id;
  given.set("token", world.token);
  given.set("access token", sandbox.envdAccessToken);
  given.set("traffic token", sandbox.trafficAccessToken ?? "");
  await signUrls();
  await giveSecrets();
  dumped = dump(world);
  // As it stands in the database beside it, for all to read.
  const row = /^COPY public\.api_tokens [^;]*;\n[^\n]*/m.exec(dumped)?.[0] ?? "";
  secretSha256 = /\\x([0-9a-f]{64})/.exec(row)?.[1] ?? "";
});

async function signUrls(): Promise<void> {
  const file = await world.call<{ url: string }>("POST", `/v1/sandboxes/${plainId}/urls`, {
    body: { path: SHADOW },
  });
  given.set("signed URL", new URL(file.body.url).searchParams.get("_skerry")?.split(".")[1] ?? "");
  const upload = await world.call<{ url: string }>("GET", `/e2b/templates/any/files/${HASH}`);
  given.set("upload link", new URL(upload.body.url).searchParams.get("code") ?? "");
}

async function giveSecrets(): Promise<void> {
  const minted = await world.call<{ token: string }>("POST", "/v1/auth/tokens", {
    body: {},
    headers: { "idempotency-key": "of-this-test" },
  });
  given.set("minted token", minted.body.token);
  const code = await world.call("POST", "/v1/auth/login-codes", {});
  given.set("login code", /[A-Za-z0-9_-]{43}/.exec(code.text)?.[0] ?? "");
  joinToken = await newJoinToken(world);
  given.set("join secret", joinToken.secret);
  await world.call("PUT", "/v1/registry-credentials/registry.example.net", {
    body: { username: "robot", password: REGISTRY_PASSWORD },
  });
  given.set("password of a registry", REGISTRY_PASSWORD);
  const session = await world.call("POST", "/v1/auth/sessions", {
    token: "",
    body: { token: world.token },
    headers: { "sec-fetch-site": "same-origin", origin: new URL(world.url).origin },
  });
  given.set("session", /__Host-skerry=([^;]+)/.exec(session.headers.get("set-cookie") ?? "")?.[1] ?? "");
}

/** Makes the code of one thing for one purpose, as the control plane does, or did. */
type Forge = (key: Buffer, purpose: string, text: string) => string;

/** The key itself, and the purpose before the text. */
const asBefore: Forge = (key, purpose, text) =>
  createHmac("sha256", key)
    .update(purpose === "signed url" ? text : `${purpose}\n${text}`)
    .digest("base64url");

/** A key for the purpose, derived from the signing key. */
const asNow: Forge = (key, purpose, text) => {
  const derived = Buffer.from(hkdfSync("sha256", key, "", `skerry signing ${purpose}`, 32));
  return createHmac("sha256", derived).update(text).digest("base64url");
};

interface Attack {
  readonly what: string;
  /** The status of the answer to what was made with this key. */
  readonly tryKey: (key: Buffer, forge: Forge) => Promise<number>;
  /** Its status where that is what it should be; undefined where it never is. */
  readonly opens?: number;
}

const attacks: readonly Attack[] = [
  ...[() => plainId, () => nativeId(sandbox.sandboxID)].map((idOf, index) => ({
    what: `an access token into a sandbox ${index === 0 ? "without" : "with"} one`,
    ...(index === 1 && { opens: 204 }),
    tryKey: (key: Buffer, forge: Forge) => {
      const code = forge(key, "e2b access", `${idOf()}\n${world.orgId}\n${secretSha256}`);
      return statusOf("GET", "/e2b/sandbox/health", {
        "e2b-sandbox-id": idOf(),
        "x-access-token": `ea_${secretSha256}_${world.orgId}_${code}`,
      });
    },
  })),
  {
    what: "a signed URL",
    opens: 404,
    tryKey: (key, forge) => {
      const code = forge(key, "signed url", `${world.orgId}\n${plainId}\n${EXPIRES_S}\nGET ${SHADOW}`);
      return statusOf("GET", `/v1/sandboxes/${plainId}/files${SHADOW}?_skerry=${EXPIRES_S}.${code}`);
    },
  },
  {
    what: "a traffic token",
    opens: 502,
    tryKey: (key, forge) =>
      statusOf("GET", "/e2b/sandbox/", {
        "e2b-sandbox-id": sandbox.sandboxID,
        "e2b-sandbox-port": "8000",
        "e2b-traffic-access-token": `ta_${forge(key, "e2b traffic", nativeId(sandbox.sandboxID))}`,
      }),
  },
  {
    what: "an upload link",
    opens: 200,
    tryKey: (key, forge) => {
      const code = forge(key, "e2b upload", `${world.orgId}\n${secretSha256}\n${HASH}\n${EXPIRES_S}`);
      const query = new URLSearchParams({
        org: world.orgId,
        token: secretSha256,
        expires: String(EXPIRES_S),
        code,
      });
      return statusOf("PUT", `/e2b/archives/${HASH}?${query.toString()}`, {}, ARCHIVE);
    },
  },
];

async function statusOf(
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body: Buffer | null = null,
): Promise<number> {
  const answer = await fetch(world.url + path, { method, headers, body });
  await answer.arrayBuffer();
  return answer.status;
}

test("the dump has the rows that the attacks are about", () => {
  expect(secretSha256).toMatch(/^[0-9a-f]{64}$/);
  for (const row of [
    plainId,
    nativeId(sandbox.sandboxID),
    joinToken.id,
    "registry.example.net",
    "of-this-test",
  ])
    expect(dumped).toContain(row);
  expect(valuesOf(dumped).length).toBeGreaterThan(100);
});

test.each(attacks)("no value of a dump makes $what", async ({ tryKey }) => {
  const statuses = new Set<number>();
  for (const key of valuesOf(dumped))
    for (const forge of [asBefore, asNow]) statuses.add(await tryKey(key, forge));
  expect([...statuses].filter((status) => status !== 401 && status !== 403)).toEqual([]);
});

/** What a thief has who has the root key beside the database. */
async function signingKey(): Promise<Buffer> {
  const { rows } = await sql<{ id: string; sealed_key: Buffer }>`
    select id, sealed_key from signing_keys`.execute(world.db);
  const [row] = rows;
  if (row === undefined) throw new Error("there is no signing key");
  const about = { owner: "cluster", scope: "signing-key", name: row.id, version: 1 };
  return Buffer.from(await world.context.sealing.open(world.db, about, row.sealed_key), "base64");
}

// It shows that the attacks above fail for lack of the key, and not because they are made wrong.
test.each(attacks.filter(({ opens }) => opens !== undefined))(
  "the opened key makes $what",
  async ({ tryKey, opens }) => {
    expect(await tryKey(await signingKey(), asNow)).toBe(opens);
    expect(await tryKey(await signingKey(), asBefore)).not.toBe(opens);
  },
);

test("not even the opened key makes an access token that was never given away", async () => {
  const [attack] = attacks;
  expect(await attack?.tryKey(await signingKey(), asNow)).toBe(401);
});

test("no value of a dump lets a machine join as a host", async () => {
  const host = await JoiningHost.open(world);
  const statuses = new Set<number>();
  for (const key of valuesOf(dumped)) {
    const proof = joinProof(key, host.request(joinToken));
    statuses.add((await host.ask(joinToken, { proof })).status);
  }
  expect([...statuses]).toEqual([401]);
  expect((await host.ask(joinToken)).status).toBe(200);
});

test("nothing that clients keep to themselves is in a dump", () => {
  for (const [what, secret] of given) {
    expect(secret.length, what).toBeGreaterThan(20);
    for (const form of [
      secret,
      Buffer.from(secret).toString("hex"),
      Buffer.from(secret, "base64url").toString("hex"),
    ])
      expect(dumped.includes(form), what).toBe(false);
  }
});

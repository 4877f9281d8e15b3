// Machines become hosts by a token, and control knows them by their certificates.

import { createHash, generateKeyPairSync, X509Certificate } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { confirmationProof, joinProof } from "@skerry/contract/joining/join-request";
import { fingerprintOf, secretDigest } from "@skerry/contract/joining/join-token";
import { securedAddress } from "../src/host-client/host-directory.ts";
import { JoiningHost, newJoinToken } from "./support/joining-host.ts";
import { openReplica } from "./support/replica.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();

/** A host that has joined and been called back. */
async function joined(): Promise<{ host: JoiningHost; id: string }> {
  const host = await JoiningHost.open(world);
  const confirmation = await host.join(await newJoinToken(world));
  const answer = await host.confirm(confirmation);
  expect(answer.status, answer.text).toBe(200);
  return { host, id: answer.body.host_id };
}

test("a machine with a token becomes a host, and control calls it over TLS", async () => {
  const { host, id } = await joined();
  expect(host.fake.calls).toEqual(["GET /info"]);
  const { rows } = await sql<Record<string, unknown>>`
    select name, status, address, memory_mib from hosts where id = ${id}`.execute(world.db);
  expect(rows).toEqual([
    { name: host.name, status: "online", address: securedAddress(id, host.address), memory_mib: 4096 },
  ]);
  await world.context.hosts.client(securedAddress(id, host.address)).listVms();
  expect(host.fake.calls).toContain("GET /vms");
});

test("all replicas share one authority, and a token carries its fingerprint", async () => {
  const token = await newJoinToken(world);
  await using replica = await openReplica(world);
  const again = await world.call<{ token: string }>("POST", "/v1/hosts/join-tokens", {
    body: {},
    url: replica.url,
  });
  expect(again.body.token.split(".")[2]).toBe(token.fingerprint);
  expect(fingerprintOf((await world.context.authority.current()).certificate)).toBe(token.fingerprint);
});

test("a token's digest is sealed, one that is in the clear is none, and the secret is in no request", async () => {
  const token = await newJoinToken(world);
  const host = await JoiningHost.open(world);
  expect(JSON.stringify(host.request(token))).not.toContain(token.secret);
  const digest = createHash("sha256").update(token.secret).digest();
  const { rows } = await sql<{ row: string }>`
    select row_to_json(j)::text as row from join_tokens j where id = ${token.id}`.execute(world.db);
  expect(rows[0]?.row).toContain(token.id);
  for (const form of [digest.toString("hex"), digest.toString("base64"), token.secret])
    expect(rows[0]?.row).not.toContain(form);
  // As the version before stores it.
  await sql`update join_tokens set secret_sha256 = ${digest}, sealed_digest = null where id = ${token.id}`.execute(
    world.db,
  );
  const answer = await host.ask(token);
  expect([answer.status, answer.body.code]).toEqual([401, "unauthorized"]);
});

test("without the root key no token is made, and none is taken", async () => {
  const token = await newJoinToken(world);
  const host = await JoiningHost.open(world);
  const keys = readFileSync(world.rootKeyFile);
  rmSync(world.rootKeyFile);
  const made = await world.call("POST", "/v1/hosts/join-tokens", { body: {} });
  expect([made.status, made.body["code"]]).toEqual([503, "secrets_unavailable"]);
  const answer = await host.ask(token);
  expect([answer.status, answer.body.code]).toEqual([503, "secrets_unavailable"]);
  writeFileSync(world.rootKeyFile, keys, { mode: 0o400 });
  expect((await host.ask(token)).status).toBe(200);
});

test("a token is for one machine: the same one may ask again, another one is refused", async () => {
  const token = await newJoinToken(world);
  const first = await JoiningHost.open(world);
  const { host_id } = await first.join(token);
  expect((await first.ask(token)).body.host_id).toBe(host_id);
  const second = await JoiningHost.open(world);
  const answer = await second.ask(token);
  expect([answer.status, answer.body.code]).toEqual([409, "join_token_used"]);
});

test("a host that joins again with another token stays the host that it was", async () => {
  const { host, id } = await joined();
  expect((await host.ask(await newJoinToken(world))).body.host_id).toBe(id);
});

test("an expired token is refused", async () => {
  const token = await newJoinToken(world);
  await sql`update join_tokens set expires_at = now() where id = ${token.id}`.execute(world.db);
  const answer = await (await JoiningHost.open(world)).ask(token);
  expect([answer.status, answer.body.code]).toEqual([401, "unauthorized"]);
});

test("whoever listens on the way can change nothing of what is asked, and use nothing of it", async () => {
  const token = await newJoinToken(world);
  const host = await JoiningHost.open(world);
  const seen = host.request(token);
  const attacker = await JoiningHost.open(world);
  const theirs = attacker.request({ ...token, secret: "A".repeat(43) });
  for (const changed of [
    { ...seen, address: attacker.address },
    { ...seen, name: "evil" },
    { ...seen, public_key: theirs.public_key, signature: theirs.signature },
    theirs,
  ]) {
    const answer = await world.call("POST", "/v1/hosts/join", { body: changed, token: "" });
    expect(answer.status, answer.text).toBe(401);
  }
  const other = { token_id: token.id, host_id: (await host.join(token)).host_id };
  const forged = confirmationProof(secretDigest("A".repeat(43)), other);
  expect((await attacker.confirm({ ...other, proof: forged })).status).toBe(401);
});

test("nobody is certified for a key that is not theirs, or not of the curve", async () => {
  const token = await newJoinToken(world);
  const host = await JoiningHost.open(world);
  const other = generateKeyPairSync("ec", { namedCurve: "prime256v1" }).publicKey;
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey;
  const pem = (key: typeof other) => key.export({ type: "spki", format: "pem" }).toString();
  for (const public_key of [pem(other), pem(rsa), host.privateKey, "nonsense"]) {
    const asked = host.request(token, { public_key });
    const proof = joinProof(secretDigest(token.secret), asked);
    const answer = await host.ask(token, { public_key, proof });
    expect([answer.status, answer.body.code], answer.text).toEqual([400, "bad_request"]);
  }
});

test("two hosts cannot have one name, and nobody takes that of the host beside control", async () => {
  const { host } = await joined();
  for (const name of [host.name, world.host.name]) {
    const answer = await (await JoiningHost.open(world)).ask(await newJoinToken(world), { name });
    expect([answer.status, answer.body.code], answer.text).toEqual([409, "host_name_taken"]);
  }
});

test("a join that broke off keeps its name from nobody", async () => {
  const broken = await JoiningHost.open(world);
  await broken.join(await newJoinToken(world));
  const next = await JoiningHost.open(world);
  const answer = await next.ask(await newJoinToken(world), { name: broken.name });
  expect(answer.status, answer.text).toBe(200);
});

test("who guesses is held up by address like with other tokens, and a machine that has a token is not", async () => {
  const limits = { ...world.context.limits, authFailuresPerMinute: 4 };
  await using replica = await openReplica(world, { limits });
  const host = await JoiningHost.open(world);
  const token = await newJoinToken(world);
  const ask = async (secret: string) => {
    const body = host.request({ ...token, secret });
    return (await world.call("POST", "/v1/hosts/join", { body, token: "", url: replica.url })).status;
  };
  expect(await ask(token.secret)).toBe(200);
  const guesses: number[] = [];
  for (let guess = 0; guess < 6; guess += 1) guesses.push(await ask(`${guess}`.repeat(43)));
  expect(guesses.slice(0, 2)).toEqual([401, 401]);
  expect(guesses.slice(2)).toContain(429);
  expect(await ask(token.secret)).toBe(200);
});

test("a host is certified for a week from now, whatever clocks say of its beginning, as itself and nothing else", async () => {
  const host = await JoiningHost.open(world);
  const { body } = await host.ask(await newJoinToken(world));
  const certificate = new X509Certificate(body.certificate);
  const authority = new X509Certificate(body.authority);
  expect(certificate.checkIssued(authority) && certificate.verify(authority.publicKey)).toBe(true);
  expect(certificate.subjectAltName).toBe(`URI:skerry://host/${body.host_id}`);
  expect(certificate.ca).toBe(false);
  expect(new Date(certificate.validFrom)).toEqual(new Date("2025-01-01T00:00:00Z"));
  expect(Math.round((Date.parse(certificate.validTo) - Date.now()) / 3_600_000)).toBe(168);
});

test("a join is in the audit log of whoever made the token", async () => {
  const { id } = await joined();
  const { text } = await world.call("GET", "/v1/audit?action=host.join");
  expect(text).toContain(id);
});

test("an address at which nobody is, or somebody else, is said so", async () => {
  const token = await newJoinToken(world);
  const host = await JoiningHost.open(world);
  const confirmation = await host.join(token);
  await host[Symbol.asyncDispose]();
  const closed = await host.confirm(confirmation);
  expect([closed.status, closed.body.code]).toEqual([422, "host_unreachable"]);
  expect(closed.body.message).toContain("connection refused");

  const { host: neighbour } = await joined();
  const second = await newJoinToken(world);
  const wrong = await JoiningHost.open(world);
  const { body } = await wrong.ask(second, { address: neighbour.address });
  const asked = { token_id: second.id, host_id: body.host_id };
  const answer = await wrong.confirm({
    ...asked,
    proof: confirmationProof(secretDigest(second.secret), asked),
  });
  expect(answer.body.message).toContain("another host of this cluster answers there");
  expect(neighbour.fake.calls).toEqual(["GET /info"]);
});

// Certificates of hosts are renewed before they end, and control's own too.

import { X509Certificate } from "node:crypto";
import { sql } from "kysely";
import { beforeAll, expect, test, vi } from "vitest";
import { hostCertificateRenewal } from "../src/joining/host-certificate-renewal.ts";
import { securedAddress } from "../src/host-client/host-directory.ts";
import { JoiningHost, newJoinToken } from "./support/joining-host.ts";
import { useWorld } from "./support/world.ts";
import { CertificateAuthority } from "../src/joining/certificate-authority.ts";
import { makeAuthority } from "../src/joining/x509.ts";

const HOUR_MS = 3_600_000;
const never = new AbortController().signal;

const world = useWorld();
beforeAll(async () => {
  await endsIn((await localHost()).id, 7 * 24);
});

async function joined(): Promise<{ host: JoiningHost; id: string; address: string }> {
  const host = await JoiningHost.open(world);
  const { body } = await host.confirm(await host.join(await newJoinToken(world)));
  return { host, id: body.host_id, address: securedAddress(body.host_id, host.address) };
}

async function endsIn(id: string, hours: number): Promise<void> {
  // By the only authority that there is.
  await sql`
    update hosts set certificate_expires_at = now() + ${hours} * interval '1 hour', certified_by = 1, trusts = '{1}'
    where id = ${id}`.execute(world.db);
}

const renew = () => hostCertificateRenewal(world.context, 60_000).activate(never);

test("a certificate that is a day old is replaced while the host serves, and a younger one stays", async () => {
  const { host, id, address } = await joined();
  await endsIn(id, 6.5 * 24);
  await renew();
  expect(host.brought).toEqual([]);
  await endsIn(id, 5.5 * 24);
  await renew();
  expect(host.brought.map(({ host_id }) => host_id)).toEqual([id]);
  await renew();
  expect(host.brought).toHaveLength(1);
  await world.context.hosts.forget(address);
  await world.context.hosts.client(address).listVms();
  expect(host.fake.calls).toContain("GET /vms");
});

test("a host that joins again after a renewal is still the host that it was", async () => {
  const { host, id } = await joined();
  await endsIn(id, 1);
  await renew();
  expect((await host.ask(await newJoinToken(world))).body.host_id).toBe(id);
});

test("a host that cannot be renewed keeps nobody else from it, and is tried again", async () => {
  const broken = await joined();
  const well = await joined();
  broken.host.fake.identity = undefined;
  for (const { id } of [broken, well]) await endsIn(id, 1);
  expect((await renew()).failed).toBe(1);
  expect(well.host.brought).toHaveLength(1);
  broken.host.fake.identity = {
    request: () => ({ public_key: "none", signature: "" }),
    install: () => undefined,
  };
  expect((await renew()).failed).toBe(1);
  await endsIn(broken.id, 24 * 7);
});

test("the host beside control is certified without a join", async () => {
  const brought: string[] = [];
  const source = await JoiningHost.open(world);
  const identity = source.fake.identity;
  if (identity === undefined) throw new Error("no identity");
  world.host.identity = {
    request: () => identity.request(),
    install: ({ host_id }) => void brought.push(host_id),
  };
  await endsIn((await localHost()).id, 0);
  await renew();
  expect(brought).toEqual([(await localHost()).id]);
});

async function localHost(): Promise<{ id: string }> {
  return world.db.selectFrom("hosts").select("id").where("joined", "=", false).executeTakeFirstOrThrow();
}

test("control's own certificate is short-lived and renewed on the way", async () => {
  const authority = new CertificateAuthority(world.db, world.context.sealing);
  vi.useFakeTimers({ toFake: ["Date"] });
  try {
    const first = await authority.credentials();
    const { validTo, subjectAltName } = new X509Certificate(first.cert);
    expect(subjectAltName).toBe("URI:skerry://control");
    const hours = (text: string) => Math.round((Date.parse(text) - Date.now()) / HOUR_MS);
    expect(hours(validTo)).toBe(24);
    vi.setSystemTime(Date.now() + 5 * HOUR_MS);
    expect(await authority.credentials()).toBe(first);
    vi.setSystemTime(Date.now() + 2 * HOUR_MS);
    const second = await authority.credentials();
    expect(second.cert).not.toBe(first.cert);
    expect(second.key).not.toBe(first.key);
    expect(second.ca).toBe(first.ca);
  } finally {
    vi.useRealTimers();
  }
});

test("what a clock that was days ahead has certified is valid when it is right again, and replaced", async () => {
  const host = await JoiningHost.open(world);
  const authority = new CertificateAuthority(world.db, world.context.sealing);
  const token = await newJoinToken(world);
  vi.useFakeTimers({ toFake: ["Date"] });
  const ahead = await (async () => {
    try {
      vi.setSystemTime(Date.now() + 3 * 24 * HOUR_MS);
      return {
        confirmation: await host.join(token),
        ours: await authority.credentials(),
        ca: makeAuthority(),
      };
    } finally {
      vi.useRealTimers();
    }
  })();
  for (const pem of [ahead.ours.cert, ahead.ca.certificate])
    expect(Date.parse(new X509Certificate(pem).validFrom)).toBeLessThan(Date.now());
  // Control calls the host, by a certificate of then.
  const confirmed = await host.confirm(ahead.confirmation);
  expect(confirmed.status).toBe(200);
  expect((await authority.credentials()).cert).not.toBe(ahead.ours.cert);
  // By the database's clock it ends later than any of now would.
  await endsIn(confirmed.body.host_id, (7 + 3) * 24);
  await renew();
  expect(host.brought).toHaveLength(1);
});

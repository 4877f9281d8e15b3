// Brings every host its next certificate, long before the one that it has ends. Control asks for the request and carries the answer, over
// the connection that it has: a host never calls control. The host beside control gets its first one here too, with which it hands VMs to others.

import { advanceRotation, rotationNow, wantedCertification } from "./rotate-authority.ts";
import { HOST_LIFETIME_MS, HOST_RENEWED_AFTER_MS } from "./certificate-authority.ts";
import { keyDigest } from "@skerry/contract/certificates/x509";
import { requestedKey } from "./x509.ts";
import type { Context } from "../context.ts";
import { recordHostCertificate } from "../hosts/joined-hosts.ts";
import { hostsToCertify } from "./host-certificate-store.ts";
import { reportOf, type BackgroundService } from "../background/background-service.ts";

const BATCH = 32;
const HOST_CERTIFICATES = "host-certificates";
/** While the authority is changed: the next step may be due before the next turn. */
const ROTATION_LOOK_MS = 10_000;

export function hostCertificateRenewal(context: Context, everyMs: number): BackgroundService {
  return {
    name: HOST_CERTIFICATES,
    everyMs,
    async activate(stop) {
      const withinMs = HOST_LIFETIME_MS - HOST_RENEWED_AFTER_MS;
      const wanted = await wantedCertification(context);
      const asked = { withinMs, lifetimeMs: HOST_LIFETIME_MS, wanted, limit: BATCH };
      const hosts = await hostsToCertify(context.db, asked);
      const results = await Promise.allSettled(hosts.map((host) => renew(context, host, stop)));
      for (const [index, result] of results.entries()) {
        if (result.status === "rejected" && !stop.aborted)
          context.log.warn(
            { err: result.reason as unknown, host_id: hosts[index]?.id },
            "a host's certificate could not be renewed",
          );
      }
      const progress = results.some((result) => result.status === "fulfilled");
      const advanced = await advanceRotation(context, HOST_CERTIFICATES);
      const more = advanced || (progress && hosts.length === BATCH);
      const { step } = await rotationNow(context);
      return {
        ...reportOf(results, { examined: hosts.length, more }),
        ...(step === "none" ? {} : { nextMs: Math.min(everyMs, ROTATION_LOOK_MS) }),
      };
    },
  };
}

async function renew(
  context: Context,
  { id, address }: { readonly id: string; readonly address: string },
  stop: AbortSignal,
): Promise<void> {
  const client = context.hosts.client(address);
  // In this order. A host takes the answer to its latest request alone, so what a replica that was overtaken brings late is refused, unless it
  // has asked after the other one; and then it looks at the authorities after that one, too.
  const key = requestedKey(await client.requestCertificate(stop));
  const { certificate, certification } = await context.authority.certifyHost(id, key);
  await client.installCertificate(certificate, stop);
  // Should this not be written, the next activation brings another one.
  const brought = { keySha256: keyDigest(key), lifetimeMs: HOST_LIFETIME_MS, ...certification };
  await recordHostCertificate(context.db, id, brought);
}

// Brings every host its next certificate, long before the one that it has ends. Control asks for the request and carries the answer, over
// the connection that it has: a host never calls control. The host beside control gets its first one here too, with which it hands VMs to others.

import { HOST_LIFETIME_MS, HOST_RENEWED_AFTER_MS } from "./certificate-authority.ts";
import { keyDigest, requestedKey } from "./x509.ts";
import type { Context } from "../context.ts";
import { hostsToCertify, recordHostCertificate } from "./host-certificate-store.ts";
import { reportOf, type BackgroundService } from "../background/background-service.ts";

const BATCH = 32;

export function hostCertificateRenewal(context: Context, everyMs: number): BackgroundService {
  return {
    name: "host-certificates",
    everyMs,
    async activate(stop) {
      const withinMs = HOST_LIFETIME_MS - HOST_RENEWED_AFTER_MS;
      const hosts = await hostsToCertify(context.db, { withinMs, limit: BATCH });
      const results = await Promise.allSettled(hosts.map((host) => renew(context, host, stop)));
      for (const [index, result] of results.entries()) {
        if (result.status === "rejected" && !stop.aborted)
          context.log.warn(
            { err: result.reason as unknown, host_id: hosts[index]?.id },
            "a host's certificate could not be renewed",
          );
      }
      const progress = results.some((result) => result.status === "fulfilled");
      return reportOf(results, { examined: hosts.length, more: progress && hosts.length === BATCH });
    },
  };
}

async function renew(
  context: Context,
  { id, address }: { readonly id: string; readonly address: string },
  stop: AbortSignal,
): Promise<void> {
  const client = context.hosts.client(address);
  const key = requestedKey(await client.requestCertificate(stop));
  await client.installCertificate(await context.authority.certifyHost(id, key), stop);
  // Should this not be written, the next activation brings another one.
  await recordHostCertificate(context.db, id, { keySha256: keyDigest(key), lifetimeMs: HOST_LIFETIME_MS });
}

import { sweepJoinTokens } from "./join-store.ts";
import type { Manifest } from "../manifest.ts";
import { hostCertificateRenewal } from "./host-certificate-renewal.ts";
import { joinRoutes } from "./join-routes.ts";

declare module "../context.ts" {
  interface Services {
    "host-certificates": true;
  }
}

export const joiningRoom = {
  routes: [joinRoutes],
  ownActs: ["authority.remove", "authority.sign", "host.join"],
  services: [
    {
      name: "host-certificates",
      everyMs: 60_000,
      setting: "SKERRY_CERTIFICATES_INTERVAL_MS",
      make: hostCertificateRenewal,
    },
  ],
  sweeps: { sweepJoinTokens },
} satisfies Manifest;

import { call, type Prepare } from "./call.ts";

export const platformCalls = {
  getDashboard: async () => call("GET", "/ui/"),
  getDashboardAsset: async () => call("GET", "/ui/assets/main-0.js"),
  getClientFile: async () => call("GET", "/clients/skerry.cjs"),
  getBackgroundService: async () => call("GET", "/v1/background-services/mover"),
  runBackgroundService: async () => call("POST", "/v1/background-services/mover/run"),
} satisfies Readonly<Record<string, Prepare>>;

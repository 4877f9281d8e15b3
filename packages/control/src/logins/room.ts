import { sweepLoginCodes } from "./login-code-store.ts";
import type { Manifest } from "../manifest.ts";
import { loginRoutes } from "./login-routes.ts";

export const loginsRoom = {
  routes: [loginRoutes],
  sweeps: { sweepLoginCodes },
} satisfies Manifest;

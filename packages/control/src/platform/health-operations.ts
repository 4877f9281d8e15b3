import { Health } from "@skerry/contract/platform/health";
import type { Operations } from "../api/operation.ts";

export const healthOperations = {
  getHealth: {
    surface: "v1",
    method: "GET",
    path: "/v1/health",
    client: "health",
    tag: "platform",
    summary: "Check the health of the control plane",
    description: "Answers where the control plane is running.",
    answers: { 200: Health },
    access: "public",
    errors: [],
  },
} as const satisfies Operations;

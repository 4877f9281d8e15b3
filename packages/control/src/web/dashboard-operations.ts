// The dashboard: a page for people, which reaches nothing but the API.

import { Type } from "typebox";
import type { Operations, WrittenAnswer } from "../api/operation.ts";

function file(description: string, type: string): WrittenAnswer {
  return { description, content: { [type]: { schema: Type.String() } } };
}

const page = {
  surface: "web",
  method: "GET",
  tag: "platform",
  access: "public",
  errors: ["not_found", "rate_limited"],
} as const;

export const dashboardOperations = {
  getDashboardRoot: {
    ...page,
    path: "/ui",
    summary: "Be sent to the dashboard",
    description: "303 to `/ui/`, below which its addresses are.",
    answers: { 200: file("The page.", "text/html") },
  },
  getDashboard: {
    ...page,
    path: "/ui/*",
    summary: "Open the dashboard",
    params: Type.Object({ "*": Type.String() }),
    answers: { 200: file("The page, whatever the path: it shows what the path names.", "text/html") },
  },
  getDashboardAsset: {
    ...page,
    path: "/ui/assets/:file",
    summary: "Get a file of the dashboard",
    params: Type.Object({ file: Type.String() }, { additionalProperties: false }),
    answers: { 200: file("The file.", "application/octet-stream") },
  },
} as const satisfies Operations;

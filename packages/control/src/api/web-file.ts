// What operations have in common that hand out files which are the same for all callers, who need no token.

import { Type } from "typebox";
import type { WrittenAnswer } from "./operation.ts";

export const webFile = {
  surface: "web",
  method: "GET",
  tag: "platform",
  access: "public",
  errors: ["not_found", "rate_limited"],
} as const;

export function fileAnswer(description: string, type: string): { readonly 200: WrittenAnswer } {
  return { 200: { description, content: { [type]: { schema: Type.String() } } } };
}

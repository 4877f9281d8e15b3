import { SignedUrl, SignedUrlRequest } from "@skerry/contract/vms/signed-urls";
import type { Operation } from "../../api/operation.ts";
import type { VmKind } from "../vm-kind.ts";
import { vmPath } from "../vm-path.ts";
import { ofSigningKey } from "./signature.ts";
import { fileSigned, portSigned } from "./signed-things.ts";

export function signUrlOperation(kind: VmKind) {
  const { noun, table } = kind;
  return {
    surface: "v1",
    method: "POST",
    path: `/v1/${table}/:id/urls`,
    tag: table,
    summary: `Sign an address of a ${noun}`,
    description: `The URL opens one port of the ${noun}, or reads or writes one file in it, without a token, until it expires or the ${noun} is destroyed. It cannot be revoked before.`,
    ...vmPath(kind),
    body: SignedUrlRequest,
    answers: { 200: SignedUrl },
    access: { scope: `${table}:execute`, role: "member", rate: "write" },
    audit: { action: `${noun}.url.sign`, resource: noun, isOfPath: true, detail: signedInBody },
    errors: [`${noun}_not_found`, "invalid_duration", "invalid_path", "timeout_too_long", ...ofSigningKey],
  } as const satisfies Operation;
}

/** What the URL will open, for the audit log. */
function signedInBody({ body }: { readonly body: unknown }): string | undefined {
  const { port, path, method = "GET", mode } = (body ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof port === "number") return portSigned(port);
  return typeof path === "string" && (method === "GET" || method === "PUT")
    ? fileSigned(method, path, typeof mode === "string" ? mode : undefined)
    : undefined;
}

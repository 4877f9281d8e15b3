import type { FastifyRequest } from "fastify";
import type { SignedUrl, SignedUrlRequest } from "@skerry/contract/vms/signed-urls";
import { SIGNED_URL_DEFAULT_MS, SIGNED_URL_MAX_MS } from "@skerry/contract/bounds";
import { SkerryError } from "@skerry/contract/errors";
import { callerOf } from "../../api/authenticate-hook.ts";
import type { Handler } from "../../api/routes.ts";
import type { Context } from "../../context.ts";
import { publicAddress } from "../../http/public-address.ts";
import { checkPath } from "../../values/paths.ts";
import { readBoundedDuration } from "../../values/durations.ts";
import type { VmKind } from "../vm-kind.ts";
import { portHostName } from "../port-host-name.ts";
import { sign, SIGNATURE_PARAMETER } from "./signature.ts";
import { fileSigned, portSigned } from "./signed-things.ts";
import type { signUrlOperation } from "./url-operations.ts";

export function signUrlHandler(context: Context, kind: VmKind): Handler<ReturnType<typeof signUrlOperation>> {
  return async (request) => {
    const { orgId } = callerOf(request);
    const { id } = await kind.get(context, callerOf(request), request.params.id);
    const { what, address, query } = placeOf(context, request, { kind, id });
    const expiresAtS = Math.floor((Date.now() + lifetimeMs(request.body)) / 1_000);
    const signature = sign(await context.signing.keys(), { orgId, vmId: id, what }, expiresAtS);
    return signedUrl(`${address}?${query}${SIGNATURE_PARAMETER}=${signature}`, expiresAtS);
  };
}

type Asked = Pick<FastifyRequest<{ Body: SignedUrlRequest }>, "protocol" | "host" | "body">;

interface Place {
  /** What the signature is of. */
  readonly what: string;
  /** The URL without it. */
  readonly address: string;
  /** What else is in its query, and ends with `&`. */
  readonly query: string;
}

interface VmOfUrl {
  readonly kind: VmKind;
  readonly id: string;
}

function placeOf(context: Context, request: Asked, vm: VmOfUrl): Place {
  const { port, path, method, mode } = request.body;
  if (port !== undefined && path === undefined && method === undefined && mode === undefined)
    return { what: portSigned(port), address: portAddress(context, request, { ...vm, port }), query: "" };
  if (path === undefined || port !== undefined)
    throw new SkerryError("bad_request", "A URL is of one port, or of one file.", {
      remediation: "Give `port`, or `path` and where it is to be written `method`.",
    });
  if (mode !== undefined && method !== "PUT")
    throw new SkerryError("bad_request", "A file that is read gets no permissions.", {
      remediation: 'Leave `mode` out, or give `"method": "PUT"`.',
      context: { field: "mode" },
    });
  // As clients send it: they leave out what says nothing.
  const steps = checkPath("path", path)
    .split("/")
    .filter((step) => step !== "" && step !== ".");
  return {
    what: fileSigned(method ?? "GET", `/${steps.join("/")}`, mode),
    address: `${publicAddress(request)}/v1/${vm.kind.table}/${vm.id}/files/${steps.map(encodeURIComponent).join("/")}`,
    query: mode === undefined ? "" : `mode=${mode}&`,
  };
}

/** Where the port has a name of its own, the URL has it. */
function portAddress(
  { sandboxDomain }: Context,
  request: Asked,
  { kind, id, port }: VmOfUrl & { readonly port: number },
): string {
  return sandboxDomain === undefined
    ? `${publicAddress(request)}/v1/${kind.table}/${id}/ports/${port}/`
    : `${request.protocol}://${portHostName(sandboxDomain, id, port, request.host)}/`;
}

function lifetimeMs({ expires_in: expiresIn }: SignedUrlRequest): number {
  if (expiresIn === undefined) return SIGNED_URL_DEFAULT_MS;
  return readBoundedDuration("expires_in", expiresIn, SIGNED_URL_MAX_MS);
}

function signedUrl(url: string, expiresAtS: number): SignedUrl {
  return { url, expires_at: new Date(expiresAtS * 1_000).toISOString() };
}

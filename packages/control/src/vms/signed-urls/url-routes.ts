import type { FastifyRequest } from "fastify";
import type { SignedUrl, SignedUrlRequest } from "@skerry/contract/vms/signed-urls";
import { SIGNED_URL_DEFAULT_MS, SIGNED_URL_MAX_MS } from "@skerry/contract/bounds";
import { callerOf } from "../../api/authenticate-hook.ts";
import type { Handler } from "../../api/routes.ts";
import type { Context } from "../../context.ts";
import { publicAddress } from "../../http/public-address.ts";
import { readBoundedDuration } from "../../values/durations.ts";
import type { VmKind } from "../vm-kind.ts";
import { portHostName } from "../port-host-name.ts";
import { sign, SIGNATURE_PARAMETER } from "./signature.ts";
import { portSigned } from "./signed-things.ts";
import { signingKey } from "./signing-key.ts";
import type { signUrlOperation } from "./url-operations.ts";

export function signUrlHandler(context: Context, kind: VmKind): Handler<ReturnType<typeof signUrlOperation>> {
  return async (request) => {
    const { orgId } = callerOf(request);
    const { id } = await kind.get(context, callerOf(request), request.params.id);
    const { what, address } = placeOf(context, request, { kind, id });
    const expiresAtS = Math.floor((Date.now() + lifetimeMs(request.body)) / 1_000);
    const signature = sign(await signingKey(context.db), { orgId, vmId: id, what }, expiresAtS);
    return signedUrl(`${address}?${SIGNATURE_PARAMETER}=${signature}`, expiresAtS);
  };
}

type Place = Pick<FastifyRequest<{ Body: SignedUrlRequest }>, "protocol" | "host" | "body">;

/** Where the port has a name of its own, the URL has it. */
function placeOf(
  { sandboxDomain }: Context,
  request: Place,
  { kind, id }: { readonly kind: VmKind; readonly id: string },
) {
  const { port } = request.body;
  const server = publicAddress(request);
  const address =
    sandboxDomain === undefined
      ? `${server}/v1/${kind.table}/${id}/ports/${port}/`
      : `${request.protocol}://${portHostName(sandboxDomain, id, port, request.host)}/`;
  return { what: portSigned(port), address };
}

function lifetimeMs({ expires_in: expiresIn }: SignedUrlRequest): number {
  if (expiresIn === undefined) return SIGNED_URL_DEFAULT_MS;
  return readBoundedDuration("expires_in", expiresIn, SIGNED_URL_MAX_MS);
}

function signedUrl(url: string, expiresAtS: number): SignedUrl {
  return { url, expires_at: new Date(expiresAtS * 1_000).toISOString() };
}

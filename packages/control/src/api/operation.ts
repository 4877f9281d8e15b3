// An operation of the API, declared once: its room says all of it in one place, and the routes, what a caller needs, the limits, the audit
// log, the OpenAPI document and the tests that go through all operations follow from it. What lacks a part does not compile.

import type { FastifyRequest } from "fastify";
import type { TNull, TSchema } from "typebox";
import type { NeededScope } from "@skerry/contract/organizations/scopes";
import type { RateClass } from "@skerry/contract/limits/rate-classes";
import type { Role } from "@skerry/contract/organizations/roles";
import type { Named } from "@skerry/contract/named";
import type { TimingPhase } from "@skerry/contract/server-timing";
import type { ErrorCode } from "@skerry/contract/errors";
import type { Act } from "../audit/audit-log.ts";
import type { Tag } from "./tags.ts";
import type { Caller, Tenant } from "../caller.ts";
import type { Context } from "../context.ts";
import type { Credentials } from "../auth/credentials.ts";

/** What an operation belongs to: the API, what else there is at its address, such as files for people to download, or the paths of another
 *  product's clients. */
export type Surface = "v1" | "web" | "e2b";

/** Whether the OpenAPI document has the operations of a surface. */
export const isDocumented: Readonly<Record<Surface, boolean>> = { v1: true, web: false, e2b: false };

export interface Access {
  /** Null: any valid token. */
  readonly scope: NeededScope | null;
  /** A scope that does as well. The handler shows and changes only what each of them is for. */
  readonly orScope?: NeededScope;
  /** In the organization that the request is for. */
  readonly role: Role;
  readonly rate: RateClass;
  /** Its ticket comes from the token's bucket alone, not from the organization's too: tokens that flood the organization cannot use up
   *  the calls that find them and end them. Only for calls that cost little, because nothing bounds what all tokens together may make. */
  readonly ticketOf?: "token";
  /** The organization is the one in the path (`:id`), and `X-Org-ID` says nothing. */
  readonly organization?: "path";
  /** A scope of the operator's organization that does as well, for callers who are not members of the one that the request names. Their
   *  organization stays the operator's; the handler decides which others they may name. */
  readonly asOperator?: NeededScope;
  /** Lets in a caller that has no token: for which organization, as long as `check` does not throw. Undefined: it needs a token, as everybody
   *  does. Throws where what it has instead is not valid. Its requests are limited by its address: `takeTicket` throws where that has none left,
   *  and is called before anything is looked up, so that refusals are limited too. */
  readonly admit?: (
    context: Context,
    request: FastifyRequest,
    takeTicket: () => void,
  ) => Promise<Visitor | undefined>;
  /** Reads which token a request is made with, where it does not bring it as the API's requests do. Throws `unauthorized`. */
  readonly credentials?: (context: Context, request: FastifyRequest) => Promise<Credentials> | Credentials;
}

/** A caller without a token. */
export interface Visitor extends Tenant {
  /** Throws when it may not go on. */
  readonly check: () => Promise<unknown>;
}

/** JSON, with a name and an example in the OpenAPI document. */
export type NamedSchema = TSchema & Named;

/** An answer that its handler writes by itself. */
export interface WrittenAnswer {
  readonly description: string;
  readonly content: Readonly<Record<string, { readonly schema: TSchema }>>;
}

/** The id of what the caller calls this, which is returned as it is where it is an id already. Throws where the caller has nothing of this name. */
export type IdOf = (context: Context, caller: Caller, asked: string) => Promise<string>;

export interface LargeBody {
  readonly maxBytes: number;
  /** What a caller does whose body is larger, or for whose body there is no memory now: the remediation of these errors. */
  readonly otherwise: string;
}

interface Declaration {
  readonly surface: Surface;
  /** `ANY`: every method, which a guest and not we give a meaning to. The document shows it as GET, and the audit log has its refusals alone. */
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "ANY";
  /** `:id` is one segment of it, a `*` at the end the rest. */
  readonly path: `/${string}`;
  readonly tag: Tag;
  /** A deed in a few words, such as `Create a sandbox`: the page lists calls by it. The rest belongs to the description. */
  readonly summary: string;
  readonly description?: string;
  readonly params?: TSchema;
  /** Where `:id` may be a name: finds the id. Handlers, the audit log and the request log see nothing but the id. */
  readonly idOf?: IdOf;
  readonly query?: TSchema;
  /** `bytes`: any content type; the handler reads the stream itself. */
  readonly body?: NamedSchema | "bytes";
  /** Its body of JSON may be larger than 1 MiB. */
  readonly largeBody?: LargeBody;
  /** A request of `application/octet-stream` is one whose field of this name is its body, which is UTF-8. */
  readonly rawField?: string;
  /** A request without a body is one with `{}`. */
  readonly isBodyOptional?: true;
  /**
   * The method of the generated clients, `collection.name` or the client's own `name`, where it does not
   * follow from path and id: `listHosts` of `/v1/hosts` is `hosts.list`. `by hand`: each client has it
   * written. Null: no client has it.
   */
  readonly client?: string | null;
  /** By status, what success answers. What answers 101 becomes a WebSocket. What answers 201 creates, and takes an `Idempotency-Key`. */
  readonly answers: {
    readonly [Status in 101 | 200 | 201 | 202 | 204]?: NamedSchema | TNull | WrittenAnswer;
  };
  /** What it answers with 201 where the request asks for that. Its handler sends it by `createIdempotently`. */
  readonly createsWhenAsked?: NamedSchema;
  /** It answers server-sent events where the request asks for them. These are the schemas of what they carry, as far as they have names. */
  readonly events?: readonly NamedSchema[];
  /** It can answer the bytes of a file. */
  readonly answersBytes?: true;
  /** Its answer is as long as it happens to be, and is made while it is read: there is no HEAD of it. */
  readonly streams?: true;
  /** Its answers have the version of what they show as `ETag`; where it replaces that, it honours `If-Match`. */
  readonly versioned?: true;
  /** Its answers tell in `Server-Timing` how long these phases took, where there were any. */
  readonly timing?: readonly TimingPhase[];
  /** The errors that do not follow from the other parts. Tests hold each answer against the document, and find what is missing here. */
  readonly errors: readonly ErrorCode[];
}

/** Needs no token, so the audit log has no caller to name. */
export interface PublicOperation extends Declaration {
  readonly access: "public";
  readonly audit?: never;
}

export interface GuardedOperation extends Declaration {
  readonly access: Access;
  readonly audit: Act;
}

export type Operation = PublicOperation | GuardedOperation;

/** By id, which is the `operationId` of the OpenAPI document. */
export type Operations = Readonly<Record<string, Operation>>;

declare module "fastify" {
  interface FastifyContextConfig {
    /** What the route serves. A `refusal` answers nothing but an error. */
    skerry?: Operation | "refusal";
  }
}

/** Undefined where the request has met no route, or one that only refuses. */
export function operationOf(request: FastifyRequest): Operation | undefined {
  if (request.is404) return undefined;
  const found = request.routeOptions.config.skerry;
  if (found === undefined) throw new Error(`${request.url} is served by a route that no operation declares`);
  return found === "refusal" ? undefined : found;
}

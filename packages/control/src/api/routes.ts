// A room's routes: what it has declared, and a handler for each. A handler that is missing, or answers another type, does not compile.

import type { FastifyReply, FastifyRequest } from "fastify";
import type { Static, TNull, TSchema } from "typebox";
import type { Context } from "../context.ts";
import type { Creation } from "../idempotency/create-once.ts";
import type { Operation, Operations, WrittenAnswer } from "./operation.ts";

type Part<O, Name extends string> =
  O extends Readonly<Record<Name, infer Schema extends TSchema>> ? Static<Schema> : unknown;

export type RequestOf<O extends Operation> = FastifyRequest<{
  Params: Part<O, "params">;
  Querystring: Part<O, "query">;
  Body: Part<O, "body">;
}>;

/** What a handler returns is sent; a reply that it returns is one that it has sent itself. What answers 201 returns the creation. */
type ResultOf<Answers> =
  Answers extends Readonly<Record<201, infer Created extends TSchema>>
    ? Creation<Static<Created>>
    : Answers extends Readonly<Record<101, TNull>>
      ? Promise<FastifyReply>
      : Answers extends Readonly<Record<204, TNull>>
        ? Promise<void>
        : Answers extends Readonly<Record<200, infer Answer>>
          ? Sent<Answer> | Promise<Sent<Answer>>
          : never;
type Sent<Answer> =
  | FastifyReply
  | (Answer extends WrittenAnswer ? never : Answer extends TSchema ? Static<Answer> : never);

export type Handler<O extends Operation> = (
  request: RequestOf<O>,
  reply: FastifyReply,
) => ResultOf<O["answers"]>;

export type Handlers<All extends Operations> = { readonly [Id in keyof All]: Handler<All[Id]> };

export interface Routes<All extends Operations = Operations> {
  readonly operations: All;
  /** Called once for each server. */
  readonly handlers: (context: Context) => UntypedHandlers;
}

/** Handlers of operations that are known only when they run. */
export type UntypedHandlers = Readonly<Record<string, (request: never, reply: FastifyReply) => unknown>>;

export function routes<All extends Operations>(
  operations: All,
  handlers: (context: Context) => Handlers<All>,
): Routes<All> {
  return { operations, handlers };
}

/** The same operations under other ids. */
export type Renamed<All extends Operations, Ids extends Readonly<Record<keyof All, string>>> = {
  readonly [Id in keyof All as Ids[Id]]: All[Id];
};

export function renamed<All extends Operations, const Ids extends Readonly<Record<keyof All, string>>>(
  { operations, handlers }: Routes<All>,
  ids: Ids,
): Routes<Renamed<All, Ids>> {
  const anew = <Value>(named: Readonly<Record<string, Value>>) =>
    Object.fromEntries(Object.entries(named).map(([id, value]) => [ids[id as keyof Ids], value]));
  return {
    // Its keys are those that the type says.
    operations: anew(operations) as Renamed<All, Ids>,
    handlers: (context) => anew(handlers(context)),
  };
}

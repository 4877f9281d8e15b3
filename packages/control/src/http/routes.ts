import type { FastifyPluginCallback, RawServerDefault } from "fastify";
import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";

/** A group of routes whose requests and answers are typed by their schemas. */
export type Routes = FastifyPluginCallback<Record<never, never>, RawServerDefault, TypeBoxTypeProvider>;

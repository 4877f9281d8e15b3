import { Type, type Static } from "typebox";
import { named } from "../named.ts";

export const Health = named("Health", { status: Type.Literal("healthy") }, { status: "healthy" });
export type Health = Static<typeof Health>;

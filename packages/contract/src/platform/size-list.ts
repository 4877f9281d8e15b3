import { Type, type Static } from "typebox";
import { OneOf } from "../fields.ts";
import { exampleOf, named } from "../named.ts";

export const SizeInfo = named(
  "Size",
  {
    name: Type.String(),
    vcpus: Type.Integer(),
    memory_mib: Type.Integer(),
    cpu: OneOf(["shared", "performance"]),
  },
  { name: "shared-cpu-1x", vcpus: 1, memory_mib: 256, cpu: "shared" },
);
export type SizeInfo = Static<typeof SizeInfo>;

export const SizeList = named("SizeList", { items: Type.Array(SizeInfo) }, { items: [exampleOf(SizeInfo)] });
export type SizeList = Static<typeof SizeList>;

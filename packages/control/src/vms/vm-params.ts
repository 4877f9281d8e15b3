import { Type } from "typebox";
import type { VmKind } from "./vm-kind.ts";

export function vmParams(noun: VmKind["noun"]) {
  return Type.Object({ id: Type.String({ description: `Id of the ${noun}.` }) });
}

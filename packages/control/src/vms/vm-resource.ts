// One of the things of the API that have a microVM. What reaches into the microVM is the same for all of them.

import { Type } from "typebox";
import type { Operation } from "../api/operations.ts";
import type { VmKind } from "./vm-kind.ts";

export interface VmResource {
  readonly kind: VmKind;
  readonly path: "/v1/sandboxes" | "/v1/machines";
  readonly tag: string;
  readonly operations: Readonly<
    Record<"execute" | "uploadFile" | "downloadFile" | "setEgress" | "getEgress", Operation>
  >;
}

export function vmParams(noun: VmKind["noun"]) {
  return Type.Object({ id: Type.String({ description: `Id of the ${noun}.` }) });
}

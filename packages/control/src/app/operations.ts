// All that the API can do, in the order of its document: by tag, and within a tag as the rooms have it.

import type { Operation } from "../api/operation.ts";
import { tags } from "../api/tags.ts";
import { rooms, type ListedManifest } from "./rooms.ts";

type RoutesOf<Room> = Room extends { readonly routes: readonly (infer One)[] } ? One : never;
type IdsOf<One> = One extends { readonly operations: infer All } ? keyof All & string : never;
export type OperationId = IdsOf<RoutesOf<ListedManifest>>;

export const allRoutes = rooms.flatMap(({ routes = [] }) => routes);

export const operations: Readonly<Record<OperationId, Operation>> = merged();

function merged(): Record<OperationId, Operation> {
  const entries = allRoutes.flatMap((routes): [string, Operation][] => Object.entries(routes.operations));
  const ids = entries.map(([id]) => id);
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice !== undefined) throw new Error(`two operations have the id "${twice}"`);
  const rank = new Map<string, number>(tags.map(({ name }, index) => [name, index]));
  const place = ([, { tag }]: (typeof entries)[number]) => rank.get(tag) ?? tags.length;
  // The entries are those of all rooms, whose ids the type is made of.
  return Object.fromEntries(entries.toSorted((a, b) => place(a) - place(b))) as Record<
    OperationId,
    Operation
  >;
}

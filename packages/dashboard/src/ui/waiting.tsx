import type { ComponentChildren } from "preact";
import type { Loaded } from "../live/use-loaded.ts";
import { Failure } from "./failure.tsx";
import { Loading } from "./page.tsx";

interface WaitingProps {
  readonly of: Loaded<unknown>;
  readonly children: ComponentChildren;
}

/** What is shown when it has come. */
export function Waiting({ of: { value, error, reload }, children }: WaitingProps) {
  if (value !== undefined) return <>{children}</>;
  return error === undefined ? <Loading /> : <Failure error={error} retry={reload} />;
}

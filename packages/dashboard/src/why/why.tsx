// "Why?" beside a state: the sentence and where it leads, read when somebody asks, so that a list of a hundred makes no more requests than one of none.

import type { ResourceEventKind } from "@skerry/sdk";
import type { Subject } from "./answer.tsx";
import { lazily } from "../ui/lazily.tsx";
import { Popover } from "../ui/popover.tsx";
import { nameOf } from "../ui/text.ts";

const Answer = lazily<Subject<ResourceEventKind>>(async () => (await import("./answer.tsx")).Answer);

export function Why<Kind extends ResourceEventKind>({ kind, of }: Subject<Kind>) {
  return (
    <Popover kind="why" text="Why?" name={`Why? ${nameOf(of)}`} label="Why it is so">
      {() => <Answer kind={kind} of={of} />}
    </Popover>
  );
}

// "Why?" beside a state: the sentence and where it leads, read when somebody asks, so that a list of a hundred makes no more requests than one of none.

import type { Subject } from "./answer.tsx";
import type { ExplainedKind } from "./read-because.ts";
import { lazily } from "../ui/lazily.tsx";
import { Popover } from "../ui/popover.tsx";
import { nameOf } from "../ui/text.ts";

const Answer = lazily<Subject<ExplainedKind>>(async () => (await import("./answer.tsx")).Answer);

export function Why<Kind extends ExplainedKind>({ kind, of }: Subject<Kind>) {
  return (
    <Popover kind="why" text="Why?" name={`Why? ${nameOf(of)}`} label="Why it is so">
      {() => <Answer kind={kind} of={of} />}
    </Popover>
  );
}

// A button that does something: busy while it is asked for, and what failed is said beside it.

import { useSignal } from "@preact/signals";
import type { Scope } from "@skerry/sdk";
import { refusalOf } from "../session.ts";
import { CopyAs, type RequestWords } from "./copy-as.tsx";
import { Failure } from "./failure.tsx";
import { useDeed } from "./use-deed.ts";

interface ActionProps {
  readonly label: string;
  /** What it is done to, where the page has several such buttons. */
  readonly of?: string;
  readonly run: () => Promise<unknown>;
  /** Without it, the button is there and says so. */
  readonly needs?: Scope;
  /** Asked before: what will be lost. */
  readonly confirm?: string;
  readonly danger?: boolean;
  /** What it sends, to be copied; null where the button beside it sends the same. */
  readonly request: RequestWords | null;
}

export function Action(props: ActionProps) {
  const { label, of, run, needs, confirm: question, danger = false, request } = props;
  const name = of === undefined ? label : `${label} ${of}`;
  const { isBusy, error, act } = useDeed();
  const isAsking = useSignal(false);
  const refusal = refusalOf(needs);
  const begin = () => {
    isAsking.value = false;
    void act(run);
  };
  return (
    <div class="action">
      <button
        type="button"
        class={danger ? "danger" : ""}
        disabled={refusal !== "" || isBusy}
        aria-label={name}
        title={refusal}
        onClick={question === undefined ? begin : () => (isAsking.value = true)}
      >
        {isBusy ? `${label}…` : label}
      </button>
      {question === undefined && request !== null && <CopyAs request={request} of={name} isSmall />}
      {isAsking.value && question !== undefined && (
        <Question
          {...{ question, label, name, request }}
          yes={begin}
          leave={() => (isAsking.value = false)}
        />
      )}
      {error !== undefined && <Failure error={error} />}
    </div>
  );
}

interface QuestionProps extends Pick<ActionProps, "label" | "request"> {
  readonly question: string;
  readonly name: string;
  readonly yes: () => void;
  readonly leave: () => void;
}

function Question({ question, label, name, request, yes, leave }: QuestionProps) {
  return (
    <div class="confirm" role="group" aria-label={question}>
      <p>{question}</p>
      <button type="button" class="danger" aria-label={`${name}: yes`} onClick={yes}>
        {label}
      </button>
      <button type="button" aria-label={`Leave it: ${name}`} onClick={leave}>
        Leave it
      </button>
      {request !== null && <CopyAs request={request} of={name} />}
    </div>
  );
}

// A button that does something: busy while it is asked for, and what failed is said beside it.

import { useSignal } from "@preact/signals";
import type { Scope } from "@skerry/sdk";
import { may, noteFailure } from "../session.ts";
import { CopyAs, type RequestWords } from "./copy-as.tsx";
import { Failure } from "./failure.tsx";

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
  const isBusy = useSignal(false);
  const error = useSignal<unknown>(undefined);
  const isAsking = useSignal(false);
  const mayNot = needs !== undefined && !may(needs);
  const act = async () => {
    isAsking.value = false;
    isBusy.value = true;
    error.value = undefined;
    try {
      await run();
    } catch (failure) {
      error.value = failure;
      noteFailure(failure);
    } finally {
      isBusy.value = false;
    }
  };
  const begin = () => (question === undefined ? void act() : void (isAsking.value = true));
  return (
    <div class="action">
      <button
        type="button"
        class={danger ? "danger" : ""}
        disabled={mayNot || isBusy.value}
        aria-label={name}
        title={mayNot ? `Needs the scope ${needs}.` : ""}
        onClick={begin}
      >
        {isBusy.value ? `${label}…` : label}
      </button>
      {question === undefined && request !== null && <CopyAs request={request} of={name} isSmall />}
      {isAsking.value && question !== undefined && (
        <div class="confirm" role="group" aria-label={question}>
          <p>{question}</p>
          <button type="button" class="danger" aria-label={`${name}: yes`} onClick={() => void act()}>
            {label}
          </button>
          <button type="button" aria-label={`Leave it: ${name}`} onClick={() => (isAsking.value = false)}>
            Leave it
          </button>
          {request !== null && <CopyAs request={request} of={name} />}
        </div>
      )}
      {error.value !== undefined && <Failure error={error.value} />}
    </div>
  );
}

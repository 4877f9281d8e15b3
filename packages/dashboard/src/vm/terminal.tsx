// A shell in the guest. It is in the address, so that a page that is loaded again goes on with it, and that another person can watch.

import { FitAddon } from "@xterm/addon-fit";
import { useSignal } from "@preact/signals";
import { SkerryApiError, type Execution, type Shell, type ShellOptions } from "@skerry/sdk";
import { useEffect, useRef } from "preact/hooks";
import { query, setQuery } from "../router.ts";
import { noteFailure } from "../session.ts";
import { Failure } from "../ui/failure.tsx";
import { drawer, guardedXterm, openXterm } from "./guarded-xterm.ts";
import { keepShell, ownShell } from "./own-shells.ts";
import type { VmKind } from "./vm-kind.ts";

type State =
  | { readonly at: "connecting" | "open" | "watching" | "lost" }
  | { readonly at: "ended"; readonly code: number | undefined };

export function Terminal({ vm, id }: { readonly vm: VmKind; readonly id: string }) {
  const place = useRef<HTMLDivElement>(null);
  const state = useSignal<State>({ at: "connecting" });
  const error = useSignal<unknown>(undefined);
  const turn = useSignal(0);
  useEffect(() => {
    if (place.current === null) return undefined;
    const stop = new AbortController();
    error.value = undefined;
    state.value = { at: "connecting" };
    run(vm, id, { into: place.current, signal: stop.signal, tell: (now) => (state.value = now) }).catch(
      (failure: unknown) => {
        if (stop.signal.aborted) return;
        error.value = failure;
        noteFailure(failure);
      },
    );
    return () => stop.abort();
  }, [id, turn.value]);
  const again = () => (turn.value += 1);
  const renew = () => {
    setQuery({ execution: undefined });
    again();
  };
  const type = () => {
    keepShell(id, query.peek().get(EXECUTION) ?? "");
    again();
  };
  return (
    <section class="panel terminal" aria-label="Terminal">
      <p class="help" role="status">
        {wordsOf(state.value)}
        {state.value.at === "ended" && (
          <button type="button" onClick={renew}>
            New shell
          </button>
        )}
        {state.value.at === "watching" && (
          <button type="button" onClick={type}>
            Type too
          </button>
        )}
      </p>
      {error.value !== undefined && <Failure error={error.value} retry={again} />}
      <div class="screen" ref={place} />
    </section>
  );
}

function wordsOf(state: State): string {
  if (state.at === "ended")
    return `The shell has ended${state.code === undefined ? "" : ` with exit code ${state.code}`}.`;
  if (state.at === "lost") return "The connection is lost; it is made again.";
  if (state.at === "watching") return "You watch a shell that another tab has begun.";
  return state.at === "open" ? "A shell in the guest. Leaving the page ends it after 30 s." : "Connecting…";
}

interface Screen {
  readonly into: HTMLElement;
  readonly signal: AbortSignal;
  readonly tell: (state: State) => void;
}

async function run(vm: VmKind, id: string, { into, signal, tell }: Screen): Promise<void> {
  const style = getComputedStyle(into);
  const screen = guardedXterm({
    screenReaderMode: true,
    fontFamily: style.fontFamily,
    fontSize: 13,
    theme: { background: style.backgroundColor, foreground: style.color, cursor: style.color },
  });
  const fit = new FitAddon();
  screen.loadAddon(fit);
  openXterm(screen, into);
  fit.fit();
  signal.addEventListener("abort", () => screen.dispose());
  const { cols, rows } = screen;
  let isOwn = true;
  const tellOpen = () => tell({ at: isOwn ? "open" : "watching" });
  const onConnection = (now: "lost" | "restored") => (now === "lost" ? tell({ at: "lost" }) : tellOpen());
  const { shell, ...found } = await findShell(vm, id, { cols, rows, signal, onConnection });
  ({ isOwn } = found);
  tellOpen();
  if (isOwn) {
    screen.focus();
    screen.onData((typed) => void shell.write(typed).catch(noteFailure));
    screen.onResize((size) => void shell.resize(size.cols, size.rows).catch(noteFailure));
    // It may have been begun in a window of another size.
    await shell.resize(cols, rows);
  } else screen.options.disableStdin = true;
  const resized = new ResizeObserver(() => fit.fit());
  resized.observe(into);
  signal.addEventListener("abort", () => resized.disconnect());
  // Read on when it is drawn, so that what prints without end waits in the guest and not here.
  const draw = drawer(screen);
  for await (const { data } of shell) await draw(data);
  tell({ at: "ended", code: shell.exitCode });
}

/** Of the address: an execution of the VM. */
const EXECUTION = "execution";

interface Found {
  readonly shell: Shell;
  /** Begun by this tab. */
  readonly isOwn: boolean;
}

/** The one in the address, else the one that this tab has begun, as long as it runs; else a new one. */
async function findShell(vm: VmKind, id: string, options: ShellOptions): Promise<Found> {
  const own = ownShell(id);
  const asked = query.peek().get(EXECUTION) ?? undefined;
  const execution = asked ?? own;
  const status = execution === undefined ? "gone" : await statusOf(vm, id, execution);
  if (status === "running" || (status === "exited" && asked !== undefined)) {
    const isOwn = execution === own;
    const shell = await vm.calls.shell(id, { ...options, execution, readOnly: !isOwn });
    return named({ shell, isOwn }, options);
  }
  const shell = await vm.calls.shell(id, options);
  keepShell(id, shell.id);
  return named({ shell, isOwn: true }, options);
}

/** Who has left meanwhile has another address. */
function named(found: Found, { signal }: ShellOptions): Found {
  if (signal?.aborted !== true) setQuery({ [EXECUTION]: found.shell.id });
  return found;
}

async function statusOf(vm: VmKind, id: string, execution: string): Promise<Execution["status"] | "gone"> {
  try {
    return (await vm.calls.getExecution(id, execution)).status;
  } catch (error) {
    if (error instanceof SkerryApiError && error.code === "execution_not_found") return "gone";
    throw error;
  }
}

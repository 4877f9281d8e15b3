// The shell that this tab has begun in each VM, kept over a reload of the page: who has begun one types into it again, and others watch.

const key = (vm: string): string => `shell in ${vm}`;

/** Id of its execution. */
export function ownShell(vm: string): string | undefined {
  try {
    return sessionStorage.getItem(key(vm)) ?? undefined;
  } catch {
    return undefined;
  }
}

export function keepShell(vm: string, execution: string): void {
  try {
    sessionStorage.setItem(key(vm), execution);
  } catch {
    // A browser that keeps nothing watches it after a reload, until it is told to type.
  }
}

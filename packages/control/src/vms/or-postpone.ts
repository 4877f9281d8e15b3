import type { Context } from "../context.ts";
import { postpone } from "./postpone.ts";

/** What cannot be done now is tried again later and later, so that a stuck VM does not hide the others. */
export async function orPostpone(
  context: Context,
  row: { readonly id: string; readonly status: string },
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    await postpone(context.db, row);
    throw error;
  }
}

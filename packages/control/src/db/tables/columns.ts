// Types of columns. Times come from the database's clock, never from ours.

import type { ColumnType } from "kysely";

export type Json<T> = ColumnType<T, string, string>;
/** Read as a Date; written by SQL expressions only. */
export type Time = ColumnType<Date, never, never>;
export type MaybeTime = ColumnType<Date | null, never, never>;
/** The same where the expression goes through the query builder. */
export type SetTime = ColumnType<Date | null, never, Date | null>;

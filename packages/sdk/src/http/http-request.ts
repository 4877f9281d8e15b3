/** One call of the API. */
export interface HttpRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Below the base address, already percent-encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as it is. */
  readonly body?: RequestInit["body"];
  /** It creates something: it gets an `Idempotency-Key`, so that sending it twice still creates one. */
  readonly creates?: boolean;
  /** How long the server may take to begin its answer, in milliseconds; `Infinity` where only the caller can know. */
  readonly answerWithinMs?: number;
}

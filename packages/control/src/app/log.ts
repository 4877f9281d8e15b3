import { countingRepeats } from "@skerry/contract/repeated-failures";
import { pino, type DestinationStream, type Logger } from "pino";

/** Log of the serving process: to standard output unless a stream is given. */
export function openLog(level: string, stream?: DestinationStream): Logger {
  const format = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  const options = { ...format, hooks: { logMethod: countingRepeats() } };
  return stream === undefined ? pino(options) : pino(options, stream);
}

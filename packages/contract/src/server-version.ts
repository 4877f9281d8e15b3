/** Header of every answer: the version of the server, as in `0.1.0`. Absent where something in between has answered. */
export const SERVER_VERSION = "skerry-version";

import { resources } from "../live/resources.ts";
import { shortId } from "../ui/text.ts";

/** What is known of its id so far. */
export function hostName(hostId: string): string {
  return resources.host.find(hostId)?.value?.name ?? shortId(hostId);
}

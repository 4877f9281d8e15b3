// In the place of `saved-settings.ts` where there is neither an environment nor a file, such as in a browser: what is given is all there is.

import type { ClientSettings } from "./saved-settings.ts";

export const tokenRemedy = "Give `token`.";

export function findSettings({ baseUrl, token, organization }: Partial<ClientSettings>): ClientSettings {
  return { baseUrl, token, organization };
}

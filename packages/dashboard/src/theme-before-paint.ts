// A script of its own before the first paint, so that the page does not flash in the other theme; and before all that may fail to load.

import { reloadWhenBroken } from "./reload-when-broken.ts";
import { applyTheme, savedTheme } from "./saved-theme.ts";

applyTheme(savedTheme());
reloadWhenBroken();

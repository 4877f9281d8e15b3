// A script of its own before the first paint, so that the page does not flash in the other theme.

import { applyTheme, savedTheme } from "./saved-theme.ts";

applyTheme(savedTheme());

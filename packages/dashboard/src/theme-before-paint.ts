// A script of its own before the first paint, so that nobody in the dark is blinded meanwhile.

import { applyTheme, savedTheme } from "./saved-theme.ts";

applyTheme(savedTheme());

import "./style/main.css";
import { render } from "preact";
import { App } from "./shell/app.tsx";
import { startKeys } from "./shell/keys.ts";
import { startLive } from "./live/live.ts";
import { takeLoginCode } from "./login-code.ts";
import { startRouter } from "./router.ts";
import { watchServedVersion } from "./served-version.ts";
import { makeTextsVisible } from "./ui/visible-text.ts";

takeLoginCode();
startRouter();
startKeys();
startLive();
watchServedVersion();
makeTextsVisible();
const root = document.getElementById("app");
if (root !== null) render(<App />, root);

import { options, type VNode } from "preact";
import { visible } from "./visible-text.ts";

/** Every text that is rendered from now on. Call it once, before anything is. */
export function makeTextsVisible(): void {
  const before = options.vnode?.bind(options);
  options.vnode = (node: VNode) => {
    const text: { props: unknown } = node;
    // A text is a node without a type, and is its own properties.
    if (typeof text.props === "string") text.props = visible(text.props);
    before?.(node);
  };
}

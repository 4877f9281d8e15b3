/** Runs what makes `style` elements, which are constructed style sheets in truth: what the page's rules let through. */
export function withStyleSheets(run: () => void): void {
  const create = document.createElement.bind(document);
  const made = (name: string) => (name === "style" ? styleSheetElement(create("template")) : create(name));
  // For so long it lies before that of the prototype.
  Object.defineProperty(document, "createElement", { value: made, configurable: true });
  try {
    run();
  } finally {
    Reflect.deleteProperty(document, "createElement");
  }
}

function styleSheetElement(element: HTMLElement): HTMLElement {
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  const remove = element.remove.bind(element);
  element.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((other) => other !== sheet);
    remove();
  };
  return Object.defineProperty(element, "textContent", {
    set(css: string) {
      sheet.replaceSync(css);
    },
    get: () => "",
  });
}

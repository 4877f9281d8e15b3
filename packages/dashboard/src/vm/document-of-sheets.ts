/** A document whose `style` elements are constructed style sheets: what the page's rules let through. */
export function documentOfSheets(real: Document): Document {
  return new Proxy(real, {
    get(target, key) {
      if (key === "createElement")
        return (name: string) => (name === "style" ? styleSheetElement(target) : target.createElement(name));
      const value: unknown = Reflect.get(target, key);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

function styleSheetElement(target: Document): HTMLElement {
  const element = target.createElement("template");
  const sheet = new CSSStyleSheet();
  target.adoptedStyleSheets = [...target.adoptedStyleSheets, sheet];
  const remove = element.remove.bind(element);
  element.remove = () => {
    target.adoptedStyleSheets = target.adoptedStyleSheets.filter((other) => other !== sheet);
    remove();
  };
  return Object.defineProperty(element, "textContent", {
    set(css: string) {
      sheet.replaceSync(css);
    },
    get: () => "",
  });
}

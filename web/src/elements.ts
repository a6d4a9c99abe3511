// Elements made in one expression.

type Attributes = Record<string, string | number | boolean | null | undefined | ((event: never) => void)>;
type Child = Node | string | null | undefined | false;

/** `make("button", { class: "quiet", onclick: act }, "Pass")`; attributes that are null or false are left out. */
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value as unknown as EventListener);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child): child is Node | string => child != null && child !== false));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

export function makeSvg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Record<string, string | number> = {},
  ...children: (Node | string)[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/** A labelled form control. */
export function field(label: string, control: HTMLElement, hint = ""): HTMLLabelElement {
  return make("label", { class: "field" }, make("span", {}, label), control, hint && make("small", {}, hint));
}

/** A labelled group of controls, which have names of their own. */
export function labelled(label: string, ...controls: HTMLElement[]): HTMLElement {
  return make("div", { class: "field" }, make("span", {}, label), ...controls);
}

export function select(options: [value: string, text: string][], chosen?: string): HTMLSelectElement {
  const element = make("select");
  for (const [value, text] of options) element.append(make("option", { value, selected: value === chosen }, text));
  return element;
}

/** What is wrong, said at once to those who cannot see it too; hidden until then. */
export const warning = (text: string): HTMLElement => make("p", { class: "lost", role: "alert", hidden: true }, text);

/** A group of buttons of which one is pressed. */
export function choice<T extends string>(
  label: string,
  options: [value: T, text: string][],
  chosen: T,
  onChange: (value: T) => void,
): HTMLElement {
  const group = make("div", { class: "choice", role: "group", "aria-label": label });
  for (const [value, text] of options) {
    const button = make(
      "button",
      { type: "button", "data-value": value, "aria-pressed": String(value === chosen) },
      text,
    );
    button.addEventListener("click", () => {
      for (const other of group.children) other.setAttribute("aria-pressed", String(other === button));
      onChange(value);
    });
    group.append(button);
  }
  return group;
}

export function download(name: string, content: Blob): void {
  const link = make("a", { href: URL.createObjectURL(content), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

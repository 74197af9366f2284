// Makes elements. Text only ever becomes a text node, so nothing of a capture can be markup.

export type Child = Node | string | number | null | undefined | false;
type Handler = (event: any) => void;
export type Props = { [name: string]: string | number | boolean | null | undefined | Handler };

function apply(element: Element, props: Props): void {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else if (name === 'class') element.setAttribute('class', String(value));
    else element.setAttribute(name, value === true ? '' : name === 'href' ? String(value) : printable(String(value)));
  }
}

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K, props: Props = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  apply(element, props);
  append(element, ...children);
  return element;
}

export function append(element: Element, ...children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    element.append(typeof child === 'object' ? child : printable(String(child)));
  }
}

export function replace(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  append(element, ...children);
}

export function svg(tag: string, props: Props = {}, ...children: Element[]): SVGElement {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  apply(element, props);
  element.append(...children);
  return element;
}

// Control characters, and the bidirectional ones that could make a line read differently from its content.
const kUnprintable = /[\u0000-\u0008\u000A-\u001F\u007F-\u009F\u200E\u200F\u2028-\u202E\u2066-\u2069\uFFFD]|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;

export function printable(text: string): string {
  return text.replace(kUnprintable, '\uFFFD');
}

// A canvas's drawing context in CSS pixels, at the resolution of the screen.
export function context2d(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  canvas.style.height = `${height}px`;
  const context = canvas.getContext('2d')!;
  context.scale(scale, scale);
  return context;
}

export function css(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

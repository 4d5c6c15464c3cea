/**
 * Replaces the style element on a page whose policy doesn't allow any. The text in `<adopted-style>` becomes a style
 * sheet, which the document adopts for as long as it contains the element.
 */
class AdoptedStyle extends HTMLElement {
  readonly sheet = new CSSStyleSheet();

  connectedCallback(): void {
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, this.sheet];
  }

  disconnectedCallback(): void {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((other) => other !== this.sheet);
  }
}

Object.defineProperty(AdoptedStyle.prototype, 'textContent', {
  set(this: AdoptedStyle, text: string) {
    this.sheet.replaceSync(text);
  },
});

/** Defines the element. Must be called before one is created. */
export function defineAdoptedStyle(): void {
  if (customElements.get('adopted-style') === undefined) customElements.define('adopted-style', AdoptedStyle);
}

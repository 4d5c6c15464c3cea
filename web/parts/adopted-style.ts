/**
 * Replaces a style element where the page's policy allows none: `<adopted-style>`, whose text becomes a style sheet
 * that the document adopts while the element is in it.
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

/** Defines the element; to be called before one is created. */
export function defineAdoptedStyle(): void {
  if (customElements.get('adopted-style') === undefined) customElements.define('adopted-style', AdoptedStyle);
}

/**
 * What stands for a style element where the policy of the page allows none: `<adopted-style>`, whose text becomes a style
 * sheet that the document adopts for as long as the element is in it.
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

/** To be called before an element is made of that name. */
export function defineAdoptedStyle(): void {
  if (customElements.get('adopted-style') === undefined) customElements.define('adopted-style', AdoptedStyle);
}

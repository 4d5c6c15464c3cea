export interface Download {
  name: string;
  type: string;
  content: string;
}

/** Lets the user save text as a file. */
export function saveFile({ name, type, content }: Download): void {
  const address = URL.createObjectURL(new Blob([content], { type }));
  download(address, name);
  URL.revokeObjectURL(address);
}

/** Downloads a file like a link would. */
export function download(href: string, name: string): void {
  Object.assign(document.createElement('a'), { href, download: name }).click();
}

export interface Download {
  name: string;
  type: string;
  content: string;
}

/** Lets the user save text as a file. */
export function saveFile({ name, type, content }: Download): void {
  const address = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}

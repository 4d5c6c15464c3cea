/**
 * Returns whether a typed text matches a model. Each of the text's words must occur in the name, regardless of spacing,
 * and commas separate alternatives. For example, "h100" matches every H100, "h100 pcie" one of them, and "rtx4090,
 * l40s" two models.
 */
export function matchesModel(typed: string, { slug, name }: { slug: string; name: string }): boolean {
  const known = `${plain(name)} ${plain(slug)}`;
  const alternatives = typed.split(',').map((text) => text.split(/\s+/).map(plain).filter(Boolean));
  const nonEmpty = alternatives.filter((words) => words.length > 0);
  return nonEmpty.length === 0 || nonEmpty.some((words) => words.every((word) => known.includes(word)));
}

const plain = (text: string): string => text.toLowerCase().replace(/[^a-z0-9]/g, '');

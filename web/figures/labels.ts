export type Labels = Readonly<Record<string, string>>;

/** Parses labels from text such as `team=vision, experiment=a1`. Bounds are checked by the service. */
export function labelsOf(text: string): Labels {
  const labels = text.split(',').filter((label) => label.trim() !== '');
  return Object.fromEntries(
    labels.map((label) => {
      const [key = '', ...value] = label.split('=');
      return [key.trim(), value.join('=').trim()];
    }),
  );
}

/** Returns what must be set and removed to change labels into others, or null if they are equal. */
export function labelChanges(from: Labels, to: Labels): { labels: Labels; remove: string[] } | null {
  const labels = Object.fromEntries(Object.entries(to).filter(([key, value]) => from[key] !== value));
  const remove = Object.keys(from).filter((key) => !Object.hasOwn(to, key));
  return Object.keys(labels).length + remove.length === 0 ? null : { labels, remove };
}

/** Returns each label as a requirement that only instances with this label meet. */
export const requirementsOf = (labels: Labels): string[] =>
  Object.entries(labels).map(([key, value]) => `${key}=${value}`);

/** Returns whether the labels meet the requirements of the URL. Like in the API, a key alone stands for any value. */
export const hasLabels = (labels: Labels, requirements: readonly string[]): boolean =>
  requirements.every((one) => Object.hasOwn(labels, one) || requirementsOf(labels).includes(one));

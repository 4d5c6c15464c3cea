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

/** Returns each label as a requirement that only instances with this label meet. */
export const requirementsOf = (labels: Labels): string[] =>
  Object.entries(labels).map(([key, value]) => `${key}=${value}`);

/** Returns whether the labels meet the requirements of the URL. Like in the API, a key alone stands for any value. */
export const hasLabels = (labels: Labels, requirements: readonly string[]): boolean =>
  requirements.every((one) => Object.hasOwn(labels, one) || requirementsOf(labels).includes(one));

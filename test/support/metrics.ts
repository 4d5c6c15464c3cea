/** One line of a scrape. */
interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

export interface Scrape {
  status: number;
  text: string;
  tookMs: number;
  samples: Sample[];
  /** Returns the only sample that has these labels, possibly among others, or undefined if none exists. */
  find(name: string, labels?: Record<string, string>): number | undefined;
  /** Returns the sum of the samples with these labels. */
  sum(name: string, labels?: Record<string, string>): number;
}

const SAMPLE = /^([a-z_:]+)(?:\{(.*)\})? (\S+)$/i;

export async function scrape(address: string): Promise<Scrape> {
  const startedAt = performance.now();
  const answer = await fetch(address);
  const text = await answer.text();
  const tookMs = performance.now() - startedAt;
  const samples = text.split('\n').flatMap((line): Sample[] => {
    const found = line.startsWith('#') ? null : SAMPLE.exec(line);
    if (found === null) return [];
    const labels = [...(found[2] ?? '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, name, value]) => [
      name!,
      value!,
    ]);
    return [{ name: found[1]!, labels: Object.fromEntries(labels), value: Number(found[3]) }];
  });
  const matching = (name: string, labels: Record<string, string> = {}) =>
    samples.filter(
      (sample) =>
        sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
    );
  return {
    status: answer.status,
    text,
    tookMs,
    samples,
    find: (name, labels) => matching(name, labels)[0]?.value,
    sum: (name, labels) => matching(name, labels).reduce((total, { value }) => total + value, 0),
  };
}

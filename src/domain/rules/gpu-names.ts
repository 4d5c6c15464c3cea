/** Makers and families that some programs name and others leave out. */
const OFTEN_LEFT_OUT = new Set([
  'nvidia',
  'geforce',
  'amd',
  'instinct',
  'radeon',
  'tesla',
  'quadro',
  'generation',
  'edition',
  'blackwell',
  'graphics',
]);
const GB = /^(\d+)gb$/;
/** Board memory is a little less or more than the round number it is sold by. */
const VRAM_TOLERANCE = 0.15;
const MB_PER_GB = 1_024;

export interface NamedModel {
  slug: string;
  name: string;
  vramGb: number;
}

/** Other words of drivers that don't distinguish models here: how a board is built and cooled, and its memory. */
const HARMLESS = /^(sxm|pcie|hbm\w*|memory|gpu|ac)$/;
const FORM_FACTORS = ['sxm', 'pcie', 'nvl'];

/**
 * The catalogue's model of a GPU that its driver calls `name`; null when none or more than one fits. Memory
 * distinguishes models that share a name.
 */
export function modelOfGpu<M extends NamedModel>(models: readonly M[], name: string, vramMb: number): M | null {
  const named = wordsOf(name);
  // Drivers call the SXM boards of some models by the chip alone.
  const words = new Set(named.some((word) => FORM_FACTORS.includes(word)) ? named : [...named, 'sxm']);
  const fitting = models.filter((model) => {
    const own = wordsOf(model.name);
    const isNamed = own.every((word) => words.has(word));
    return (
      isNamed &&
      isAbout(vramMb / MB_PER_GB, model.vramGb) &&
      [...words].every((word) => own.includes(word) || HARMLESS.test(word))
    );
  });
  return fitting.length === 1 ? fitting[0]! : null;
}

/** Without makers and memory sizes; SXM4 and SXM5 are both SXM, Workstation and WS the same. */
function wordsOf(name: string): string[] {
  return name
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '' && !OFTEN_LEFT_OUT.has(word) && !GB.test(word))
    .map((word) => word.replace(/^sxm\d$/, 'sxm').replace(/^ws$/, 'workstation'));
}

function isAbout(gb: number, nominal: number): boolean {
  return Math.abs(gb - nominal) <= nominal * VRAM_TOLERANCE;
}

/** Vendor and product family names, which some programs include and others omit. */
const OFTEN_OMITTED = new Set([
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
/** Maximum relative difference between a board's memory and the round number it is sold under. */
const VRAM_TOLERANCE = 0.15;
const MB_PER_GB = 1_024;

export interface NamedModel {
  slug: string;
  name: string;
  vramGb: number;
}

/** Matches other words in driver names that don't distinguish models here, such as form factor, cooling and memory. */
const HARMLESS = /^(sxm|pcie|hbm\w*|memory|gpu|ac)$/;
const FORM_FACTORS = ['sxm', 'pcie', 'nvl'];

/**
 * Returns the catalogue model for a GPU that its driver calls `name`. Returns null if no model or more than one
 * matches. Models with the same name are distinguished by their memory.
 */
export function modelOfGpu<M extends NamedModel>(models: readonly M[], name: string, vramMb: number): M | null {
  const named = wordsOf(name);
  // For some models with SXM boards, the driver reports only the chip's name.
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
  const [model, ...others] = fitting;
  return model === undefined || others.length > 0 ? null : model;
}

/** Matches words that distinguish models with the same base name: form factor and memory. */
const VARIANT = /^(sxm|pcie|nvl|workstation|server|\d+gb)$/;

/**
 * Returns the models that a person or another market calls `name`, which can be a slug, a display name, or a name
 * shared by several models (`RTX4090`, `H100`). Returns an empty list if the name is unknown.
 */
export function modelsNamed<M extends NamedModel>(models: readonly M[], name: string): M[] {
  const own = models.find(({ slug }) => slug === name);
  if (own !== undefined) return [own];
  const wanted = namePartsOf(name);
  if (wanted.base === '') return [];
  return models.filter((model) => {
    const { base, variants } = namePartsOf(`${model.name} ${model.vramGb}GB`);
    return base === wanted.base && wanted.variants.every((variant) => variants.includes(variant));
  });
}

/**
 * Returns the slugs that the names refer to, in the order of the names. Unknown names are kept unchanged and don't
 * match any offer.
 */
export function slugsOf(models: readonly NamedModel[], names: readonly string[]): string[] {
  const slugs = names.flatMap((name) => {
    const named = modelsNamed(models, name);
    return named.length === 0 ? [name] : named.map(({ slug }) => slug);
  });
  return [...new Set(slugs)];
}

/** Splits a name into a base name and its variants. For example, `NVIDIA H100 SXM5` is the variant `sxm` of `h100`. */
function namePartsOf(name: string): { base: string; variants: string[] } {
  const words = name
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .map((word) => word.replace(/^sxm\d$/, 'sxm').replace(/^ws$/, 'workstation'))
    .filter((word) => word !== '' && !OFTEN_OMITTED.has(word));
  return {
    base: words.filter((word) => !VARIANT.test(word)).join(''),
    variants: words.filter((word) => VARIANT.test(word)),
  };
}

/**
 * Returns the words in a name, excluding vendors and memory sizes. SXM4 and SXM5 both become SXM, and WS becomes
 * Workstation.
 */
function wordsOf(name: string): string[] {
  return name
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '' && !OFTEN_OMITTED.has(word) && !GB.test(word))
    .map((word) => word.replace(/^sxm\d$/, 'sxm').replace(/^ws$/, 'workstation'));
}

function isAbout(gb: number, nominal: number): boolean {
  return Math.abs(gb - nominal) <= nominal * VRAM_TOLERANCE;
}

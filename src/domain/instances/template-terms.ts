import type { Write } from '../billing/ledger.js';
import type { MachineUnderLock } from '../billing/ledger-rows.js';
import type { Launch } from '../kernel/launch.js';
import type { Instance } from '../kernel/lifecycle.js';
import type { SealingKey } from '../kernel/sealing.js';
import { checkVariables, type TemplateTerms, type TemplateVariable, variablesToGenerate } from '../kernel/template.js';
import { generateTokens, tokenKeyOf } from '../secrets/generated-tokens.js';
import type { InstanceDeps } from './deps.js';

/** The parts of a template that a rental needs. They are read before the transaction starts. */
export interface TemplateInUse {
  /** Null if the rental uses an image directly instead of a template. */
  terms: TemplateTerms | null;
  /** The key that seals generated tokens, or null if none are generated. */
  tokenKey: SealingKey | null;
}

/**
 * Returns the terms that a deploy needs from the template with this slug. Returns null if there is no such template, in
 * which case `slug` is an image.
 */
export async function templateTerms(
  deps: Pick<InstanceDeps, 'inventory'>,
  slug: string,
): Promise<TemplateTerms | null> {
  const found = await deps.inventory.template(slug);
  if (found === null) return null;
  return {
    slug,
    env: found.env as Record<string, string>,
    variables: found.variables as unknown as TemplateVariable[],
  };
}

export async function templateInUse(
  deps: Pick<InstanceDeps, 'db' | 'sealingKeys' | 'inventory'>,
  slug: string,
  launch: Launch = {},
): Promise<TemplateInUse> {
  const terms = await templateTerms(deps, slug);
  const makes = terms !== null && variablesToGenerate(terms, launch).length > 0;
  return { terms, tokenKey: makes ? await tokenKeyOf(deps) : null };
}

/** Throws invalid_request if the launch lacks a variable that the template requires. */
export function checkTemplate({ terms }: TemplateInUse, launch: Launch = {}): void {
  if (terms !== null) checkVariables(terms, launch);
}

/**
 * Generates the template's tokens for the renter if the machine's agent supports them. An older agent starts the
 * container without tokens.
 */
export function generateTokensFor(
  current: Write,
  { hasHost, hasOldAgent }: MachineUnderLock,
  instance: Instance,
  { terms, tokenKey }: TemplateInUse,
  launch: Launch = {},
): void {
  if (terms === null || tokenKey === null || !hasHost || hasOldAgent) return;
  // Flushed first, because the tokens refer to the instance row.
  current.flush();
  generateTokens(current.transaction, tokenKey, instance, variablesToGenerate(terms, launch));
}

// node scripts/sbom.mjs            prints the bill of materials (CycloneDX) for the packages installed with this one or built
//                                  into it
// node scripts/sbom.mjs --check    fails if a licence is not listed here
import { execFileSync } from 'node:child_process';

/** Permissive licences, which require only attribution. */
const ALLOWED = new Set(['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT', 'MIT-0', 'Unlicense']);
/** Build dependencies whose code becomes part of the console's files (dist/console). */
const BUILT_IN = new Set(['preact', '@preact/signals', '@preact/signals-core', 'gql.tada', '@0no-co/graphql.web']);

const shipped = materials('--omit', 'dev');
const known = new Set(shipped.components.map((component) => component['bom-ref']));
const builtIn = materials().components.filter((each) => BUILT_IN.has(nameOf(each)) && !known.has(each['bom-ref']));
const components = [...shipped.components, ...builtIn];

if (process.argv.includes('--check')) {
  const missing = [...BUILT_IN].filter((name) => !components.some((each) => nameOf(each) === name));
  const refused = components.filter((component) => !isAllowed(licenceOf(component)));
  for (const name of missing) console.error(`${name} is not installed`);
  for (const each of refused) console.error(`${nameOf(each)} ${each.version}: ${licenceOf(each) || 'no licence'}`);
  if (missing.length + refused.length > 0 || shipped.components.length === 0) process.exitCode = 1;
} else {
  console.log(JSON.stringify({ ...shipped, components }, null, 2));
}

function materials(...options) {
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'application', ...options];
  return JSON.parse(
    execFileSync('npm', args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024, stdio: ['ignore', 'pipe', 'inherit'] }),
  );
}

function nameOf({ group, name }) {
  return group ? `${group}/${name}` : name;
}

function licenceOf({ licenses = [] }) {
  return licenses.map(({ license, expression }) => expression ?? license?.id ?? license?.name ?? '').join(' AND ');
}

/**
 * Returns whether a licence expression is allowed. One of several alternatives is enough, but every one of several
 * combined licences must be allowed.
 */
function isAllowed(expression) {
  const choices = expression.replace(/[()]/g, '').split(' OR ');
  return choices.some((choice) => choice.split(' AND ').every((each) => ALLOWED.has(each.trim())));
}

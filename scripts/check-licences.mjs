// Refuses what is installed with the package under a licence that is not listed here, or under none.
import { execFileSync } from 'node:child_process';

/** Permissive ones: they ask for no more than to be named. */
const ALLOWED = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
  'Unlicense',
]);
/** What package.json doesn't say, by `name`: the licence that stands in the package, and where. */
const READ_BY_HAND = {};

const args = ['sbom', '--sbom-format', 'cyclonedx', '--omit', 'dev'];
const { components } = JSON.parse(execFileSync('npm', args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 }));
const refused = components.filter((component) => !isAllowed(licenceOf(component)));
for (const component of refused)
  console.error(`${component.name} ${component.version}: ${licenceOf(component) || 'no licence'}`);
if (refused.length > 0 || components.length === 0) process.exit(1);

function licenceOf({ name, licenses = [] }) {
  const named = licenses.map(({ license, expression }) => expression ?? license?.id ?? license?.name ?? '');
  return named.join(' AND ') || READ_BY_HAND[name] || '';
}

/** Of alternatives one is enough; of what applies together all are needed. */
function isAllowed(expression) {
  const plain = expression.replace(/[()]/g, '');
  return plain.split(' OR ').some((choice) => choice.split(' AND ').every((each) => ALLOWED.has(each.trim())));
}

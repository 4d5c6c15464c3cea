import type { Launch } from '../../kernel/launch.js';
import type { TemplateVariable } from '../../kernel/template.js';

/** The console's own limits. It ignores anything in a link that exceeds them. */
const MAX_ROWS = 30;
const MAX_VALUE = 1_000;
/** By default, nginx accepts request lines of up to 8 kB. */
const MAX_LENGTH = 8_000;
/** Matches variable names that suggest a secret. Used for variables that no template describes. */
const NAMES_A_SECRET = /(?:^|_)(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PAT|KEY|CREDENTIALS?)$/i;
const PORT_NAME = /^[\w .-]{1,40}$/;
const ONE_LINE = /^[^\p{Cc}\p{Cf}]*$/u;

/** The launch shared by the link. */
interface Shared {
  /** A template's slug or an image reference. */
  template: string;
  diskGb: number;
  launch: Launch;
}

/** The known properties of the launch's template. An image has no known properties. */
interface Known {
  vramGb: number | null;
  variables: readonly TemplateVariable[];
}

/**
 * Returns a link of up to 8,000 characters to a form that is prefilled for anyone who follows the link. The link
 * contains neither the names of secrets nor the values of secret variables, only which variables need a secret.
 * Generated values are generated separately for each person who follows the link. Values that don't fit are omitted.
 * TCP ports are also omitted, because they are publicly reachable.
 */
export function launchLink(publicUrl: string, { template, diskGb, launch }: Shared, known: Known | null): string {
  const { name, env = {}, secrets = [], command = [], ports = [], user } = launch;
  const described = (variable: string) => known?.variables.find((each) => each.name === variable);
  const isGenerated = (variable: string) => described(variable)?.made ?? false;
  const isSecret = (variable: string) => {
    const found = described(variable);
    return found === undefined ? NAMES_A_SECRET.test(variable) : (found.secret ?? false);
  };
  const values = Object.entries(env).filter(([variable]) => !isGenerated(variable));
  const plain = values.filter(([variable, value]) => !isSecret(variable) && isShort(value));
  const secretNames = [
    ...values.map(([variable]) => variable).filter(isSecret),
    ...secrets.flatMap(({ variable }) => variable ?? []).filter((variable) => !isGenerated(variable)),
  ];
  const args = command.length <= MAX_ROWS && command.every(isShort) ? command : [];
  let link = `${publicUrl}/launch?${new URLSearchParams([
    [known === null ? 'image' : 'template', template],
    ...(known?.vramGb == null ? [] : [['vram', String(known.vramGb)]]),
    ['deploy-disk', String(diskGb)],
    ...(name === undefined ? [] : [['name', name]]),
    ...(user === undefined ? [] : [['user', user]]),
  ])}`;
  const add = (members: string[][]) => {
    const text = members.length === 0 ? '' : `&${new URLSearchParams(members)}`;
    if (link.length + text.length <= MAX_LENGTH) link += text;
  };
  for (const variable of secretNames.slice(0, MAX_ROWS)) add([['secret', variable]]);
  // Either all words are added or none, because a truncated command would be a different command.
  add(args.map((word) => ['command', word]));
  for (const { port, name: called } of ports)
    add([['port', called && PORT_NAME.test(called) ? `${port}:${called}` : `${port}`]]);
  for (const [variable, value] of plain.slice(0, MAX_ROWS)) add([[`env.${variable}`, value]]);
  return link;
}

const isShort = (value: string): boolean => value !== '' && value.length <= MAX_VALUE && ONE_LINE.test(value);

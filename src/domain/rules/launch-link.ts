import type { Launch } from './launch.js';
import type { TemplateVariable } from './template.js';

/** What a link can hold: the bounds of its reader, which leaves out the rest. */
const MAX_ROWS = 30;
const MAX_VALUE = 1_000;
/** nginx takes a request line of 8 kB unless it is set up otherwise. */
const MAX_LENGTH = 8_000;
/** Names that say what their values are, where no template says it. */
const NAMES_A_SECRET = /(?:^|_)(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PAT|KEY|CREDENTIALS?)$/i;
const PORT_NAME = /^[\w .-]{1,40}$/;
const ONE_LINE = /^[^\p{Cc}\p{Cf}]*$/u;

/** What is shared. */
interface Shared {
  /** Slug of a template, or an image. */
  template: string;
  diskGb: number;
  launch: Launch;
}

/** What is known of its template; nothing of an image. */
interface Known {
  vramGb: number | null;
  variables: readonly TemplateVariable[];
}

/**
 * A link that opens a filled form for whoever follows it, of at most 8,000 characters. It has no secret: not the name of
 * one, nor the value of a variable that is one, only that one is wanted; a value that the service makes where none is given
 * is made anew for whoever follows it. What a link can't hold is left out, and so are TCP ports, which anybody may reach.
 */
export function launchLink(publicUrl: string, { template, diskGb, launch }: Shared, known: Known | null): string {
  const { name, env = {}, secrets = [], command = [], ports = [] } = launch;
  const described = (variable: string) => known?.variables.find((each) => each.name === variable);
  const isMade = (variable: string) => described(variable)?.made ?? false;
  const isSecret = (variable: string) => {
    const found = described(variable);
    return found === undefined ? NAMES_A_SECRET.test(variable) : (found.secret ?? false);
  };
  const given = Object.entries(env).filter(([variable]) => !isMade(variable));
  const plain = given.filter(([variable, value]) => !isSecret(variable) && isShort(value));
  const wanted = [
    ...given.map(([variable]) => variable).filter(isSecret),
    ...secrets.flatMap(({ variable }) => variable ?? []).filter((variable) => !isMade(variable)),
  ];
  const words = command.length <= MAX_ROWS && command.every(isShort) ? command : [];
  let link = `${publicUrl}/launch?${new URLSearchParams([
    [known === null ? 'image' : 'template', template],
    ...(known?.vramGb == null ? [] : [['vram', String(known.vramGb)]]),
    ['deploy-disk', String(diskGb)],
    ...(name === undefined ? [] : [['name', name]]),
  ])}`;
  const add = (members: string[][]) => {
    const text = members.length === 0 ? '' : `&${new URLSearchParams(members)}`;
    if (link.length + text.length <= MAX_LENGTH) link += text;
  };
  for (const variable of wanted.slice(0, MAX_ROWS)) add([['secret', variable]]);
  // All of its words or none: half a command is another one.
  add(words.map((word) => ['command', word]));
  for (const { port, name: called } of ports)
    add([['port', called && PORT_NAME.test(called) ? `${port}:${called}` : `${port}`]]);
  for (const [variable, value] of plain.slice(0, MAX_ROWS)) add([[`env.${variable}`, value]]);
  return link;
}

const isShort = (value: string): boolean => value !== '' && value.length <= MAX_VALUE && ONE_LINE.test(value);

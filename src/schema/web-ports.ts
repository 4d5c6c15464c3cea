import { instanceFields } from '../domain/instances/fields.js';
import { MAX_TCP_PORTS } from '../domain/instances/rules/tcp-ports.js';
import { type TcpPort, tcpPortsOf } from '../domain/instances/tcp-ports.js';
import { MAX_TEMPLATE_VARIABLES } from '../domain/kernel/template.js';
import { webPortFields } from '../domain/web-ports/fields.js';
import {
  type GeneratedToken,
  type InstanceLink,
  type InstanceLinks,
  instanceLinks,
} from '../domain/web-ports/instance-links.js';
import { closePort, openPort } from '../domain/web-ports/open-ports.js';
import { type InstancePort, PORTS_SELECT, portsOfInstance, webUrlOfInstance } from '../domain/web-ports/ports.js';
import { createWebLink, createWebToken, type WebLink, type WebToken } from '../domain/web-ports/web-links.js';
import { atMost, builder, fromField, NEEDS_KEY } from './builder.js';
import { accountOf, callerOf } from './context.js';
import { InstanceType } from './instances.js';

/** Maximum number of ports per instance, including those of its template or image and those opened later. */
const MAX_PORTS = 120;

const InstancePortType = builder.objectRef<InstancePort>('InstancePort').implement({
  description: 'A port of an instance, reachable by HTTP through the gateway.',
  fields: (t) => ({
    port: t.exposeInt('port', { description: 'The port that a program in the container listens on.' }),
    name: t.exposeString('name', {
      nullable: true,
      description: 'Name given by its template or launch; null for a port without a name.',
    }),
    url: t.exposeString('url', { description: 'URL of the port. A private port needs the cookie of a webLink.' }),
    open: t.exposeBoolean('isOpen', { description: 'Whether anyone can visit it.' }),
  }),
});

const InstanceLinkType = builder.objectRef<InstanceLink>('InstanceLink').implement({
  description: 'A named port of an instance, with its URL.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Name given by its template or launch, such as JupyterLab.' }),
    port: t.exposeInt('port', { description: 'The port that a program in the container listens on.' }),
    path: t.exposeString('path', {
      description: 'Path to open, including the token that its page takes from the URL. Pass it to webLink.',
    }),
    url: t.exposeString('url', { description: 'URL with the path. A private port needs the cookie of a webLink.' }),
    open: t.exposeBoolean('isOpen', { description: 'Whether anyone can visit the port.' }),
  }),
});

const GeneratedTokenType = builder.objectRef<GeneratedToken>('MadeToken').implement({
  description: 'A password or token that the service generated when the instance was deployed.',
  fields: (t) => ({
    variable: t.exposeString('variable', { description: 'Variable through which the container receives it.' }),
    value: t.exposeString('value', { description: 'The password or token: 32 hex characters.' }),
    inLink: t.exposeBoolean('isInLink', { description: 'Whether a link already contains it.' }),
  }),
});

const InstanceLinksType = builder.objectRef<InstanceLinks>('InstanceLinks').implement({
  description: 'Links to the programs running in an instance.',
  fields: (t) => ({
    links: t.field({
      type: [InstanceLinkType],
      ...atMost(MAX_PORTS),
      description: 'Its named ports.',
      resolve: ({ links }) => links,
    }),
    tokens: t.field({
      type: [GeneratedTokenType],
      ...atMost(MAX_TEMPLATE_VARIABLES),
      description: 'Generated passwords and tokens, by variable.',
      resolve: ({ tokens }) => tokens,
    }),
  }),
});

const WebLinkType = builder.objectRef<WebLink>('WebLink').implement({
  description: 'A link that grants one browser access to a private port.',
  fields: (t) => ({
    url: t.exposeString('url', { description: 'Link, valid for one use. Its cookie grants access for a day.' }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'Time until which the link can be opened.' }),
  }),
});

const WebTokenType = builder.objectRef<WebToken>('WebToken').implement({
  description: 'A token that grants programs such as curl or an SDK access to a private port.',
  fields: (t) => ({
    token: t.exposeString('token', { description: 'Send it with each request. It is shown only once.' }),
    header: t.exposeString('header', { description: 'The header that carries it; the container does not receive it.' }),
    url: t.exposeString('url', { description: 'URL of the port.' }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'Expiry time, one day after creation.' }),
  }),
});

const TcpPortType = builder.objectRef<TcpPort>('TcpPort').implement({
  description: 'A port of an instance, reachable by TCP. Anyone can connect.',
  fields: (t) => ({
    port: t.exposeInt('port', { description: 'The port that a program in the container listens on.' }),
    host: t.exposeString('host', { description: 'Host name to connect to.' }),
    publicPort: t.exposeInt('publicPort', { description: 'Port to connect to.' }),
  }),
});

builder.prismaObjectFields(InstanceType, (t) => ({
  tcpPorts: t.field({
    type: [TcpPortType],
    ...atMost(MAX_TCP_PORTS),
    select: { status: true, tcpPorts: { select: { port: true, publicPort: true }, orderBy: { port: 'asc' } } },
    description: "Public addresses of its launch's TCP ports, until it is destroyed.",
    resolve: (instance, _args, { deps }) => tcpPortsOf(deps.settings, instance),
  }),
  webUrl: t.field({
    type: 'String',
    nullable: true,
    select: PORTS_SELECT,
    description: 'URL of its first port, from its template or else its image; null if neither has one.',
    resolve: (instance, _args, { deps }) => webUrlOfInstance(deps.settings, instance),
  }),
  ports: t.field({
    type: [InstancePortType],
    select: PORTS_SELECT,
    description: 'Ports of its template or image, and opened ports. Any other port works too.',
    resolve: (instance, _args, { deps }) => portsOfInstance(deps.settings, instance),
  }),
}));

builder.queryFields((t) => ({
  instanceLinks: t.field({
    type: InstanceLinksType,
    ...NEEDS_KEY,
    nullable: true,
    description:
      'The named ports of an instance, with the tokens and passwords generated for it. Anyone who reads this can open them. Refused once the instance is destroyed. Needs an API key.',
    args: { id: t.arg.id({ required: true, ...fromField(instanceFields.instanceId) }) },
    resolve: (_root, { id }, context) => instanceLinks(context.deps, accountOf(context), id),
  }),
}));

const PORT_ARGUMENT = fromField(webPortFields.port);

builder.mutationFields((t) => ({
  openPort: t.field({
    type: InstanceType,
    ...NEEDS_KEY,
    nullable: true,
    description: 'Lets anyone visit a port of an instance at its URL. At most 20 per instance.',
    args: {
      id: t.arg.id({ required: true, ...fromField(instanceFields.instanceId) }),
      port: t.arg.int({ required: true, ...PORT_ARGUMENT }),
    },
    resolve: (_root, { id, port }, context) => openPort(context.deps, accountOf(context), id, port),
  }),
  closePort: t.field({
    type: InstanceType,
    ...NEEDS_KEY,
    nullable: true,
    description: "Makes a port private again and ends its visitors' connections.",
    args: {
      id: t.arg.id({ required: true, ...fromField(instanceFields.instanceId) }),
      port: t.arg.int({ required: true, ...PORT_ARGUMENT }),
    },
    resolve: (_root, { id, port }, context) => closePort(context.deps, accountOf(context), id, port),
  }),
  webLink: t.field({
    type: WebLinkType,
    ...NEEDS_KEY,
    nullable: true,
    description:
      'Returns a link that grants one browser access to a private port, valid for one use within a minute. The link and its cookie become invalid with the API key that requested it.',
    args: {
      id: t.arg.id({ required: true, ...fromField(instanceFields.instanceId) }),
      port: t.arg.int({ ...PORT_ARGUMENT, description: 'The port; by default the first.' }),
      path: t.arg.string(fromField(webPortFields.webPath)),
    },
    resolve: (_root, args, context) => createWebLink(context.deps, callerOf(context), args),
  }),
  webToken: t.field({
    type: WebTokenType,
    ...NEEDS_KEY,
    nullable: true,
    description:
      'Returns a token that grants programs access to a private port for a day, in a header. It becomes invalid with the API key that requested it, like the cookie of a webLink.',
    args: {
      id: t.arg.id({ required: true, ...fromField(instanceFields.instanceId) }),
      port: t.arg.int({ ...PORT_ARGUMENT, description: 'The port; by default the first.' }),
    },
    resolve: (_root, args, context) => createWebToken(context.deps, callerOf(context), args),
  }),
}));

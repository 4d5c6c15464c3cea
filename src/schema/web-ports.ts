import { fields } from '../domain/fields.js';
import { type TcpPort, tcpPortsOf } from '../domain/instances/tcp-ports.js';
import { MAX_TCP_PORTS } from '../domain/rules/tcp-ports.js';
import { MAX_TEMPLATE_VARIABLES } from '../domain/rules/template.js';
import {
  type InstanceLink,
  type InstanceLinks,
  instanceLinks,
  type MadeToken,
} from '../domain/web-ports/instance-links.js';
import { closePort, openPort } from '../domain/web-ports/open-ports.js';
import { type InstancePort, PORTS_SELECT, portsOfInstance, webUrlOfInstance } from '../domain/web-ports/ports.js';
import { createWebLink, createWebToken, type WebLink, type WebToken } from '../domain/web-ports/web-links.js';
import { atMost, builder, fromField, NEEDS_KEY } from './builder.js';
import { accountOf, callerOf } from './context.js';
import { InstanceType } from './instances.js';

/** Of its template or image, and those that were opened. */
const MAX_PORTS = 120;

const InstancePortType = builder.objectRef<InstancePort>('InstancePort').implement({
  description: 'A port of an instance, reached by HTTP through the gateway.',
  fields: (t) => ({
    port: t.exposeInt('port', { description: 'The port that a program in the container listens on.' }),
    name: t.exposeString('name', {
      nullable: true,
      description: 'What its template or launch calls it; null for a port without a name.',
    }),
    url: t.exposeString('url', { description: 'Where it is reached. A private port needs the cookie of a webLink.' }),
    open: t.exposeBoolean('isOpen', { description: 'Whether anybody may visit it.' }),
  }),
});

const InstanceLinkType = builder.objectRef<InstanceLink>('InstanceLink').implement({
  description: 'A named port of an instance, and where it is opened.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'What its template or launch calls it, such as JupyterLab.' }),
    port: t.exposeInt('port', { description: 'The port that a program in the container listens on.' }),
    path: t.exposeString('path', {
      description: 'Where to open it, with the token that its page takes from the address: the path of a webLink.',
    }),
    url: t.exposeString('url', { description: 'Address and path. A private port needs the cookie of a webLink.' }),
    open: t.exposeBoolean('isOpen', { description: 'Whether anybody may visit the port.' }),
  }),
});

const MadeTokenType = builder.objectRef<MadeToken>('MadeToken').implement({
  description: 'A password or token that the service made for an instance at its deploy.',
  fields: (t) => ({
    variable: t.exposeString('variable', { description: 'The variable that the container got it as.' }),
    value: t.exposeString('value', { description: 'The password or token: 32 hex characters.' }),
    inLink: t.exposeBoolean('isInLink', { description: 'Whether a link has it already.' }),
  }),
});

const InstanceLinksType = builder.objectRef<InstanceLinks>('InstanceLinks').implement({
  description: 'How what runs in an instance is opened.',
  fields: (t) => ({
    links: t.field({
      type: [InstanceLinkType],
      ...atMost(MAX_PORTS),
      description: 'Its named ports.',
      resolve: ({ links }) => links,
    }),
    tokens: t.field({
      type: [MadeTokenType],
      ...atMost(MAX_TEMPLATE_VARIABLES),
      description: 'What was made for it, by variable.',
      resolve: ({ tokens }) => tokens,
    }),
  }),
});

const WebLinkType = builder.objectRef<WebLink>('WebLink').implement({
  description: 'Lets one browser in to a private port.',
  fields: (t) => ({
    url: t.exposeString('url', { description: 'Good for one use. Its cookie lets in for a day.' }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'Until when it may be followed.' }),
  }),
});

const WebTokenType = builder.objectRef<WebToken>('WebToken').implement({
  description: 'Lets programs in to a private port, such as curl or an SDK.',
  fields: (t) => ({
    token: t.exposeString('token', { description: 'Send it with each request. It is shown only once.' }),
    header: t.exposeString('header', { description: 'The header that carries it; the container does not receive it.' }),
    url: t.exposeString('url', { description: 'Address of the port.' }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'End of its validity, after a day.' }),
  }),
});

const TcpPortType = builder.objectRef<TcpPort>('TcpPort').implement({
  description: 'A port of an instance, reached by TCP: anybody may connect.',
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
    description: 'Where the TCP ports of its launch are reached, until it is destroyed.',
    resolve: (instance, _args, { deps }) => tcpPortsOf(deps.settings, instance),
  }),
  webUrl: t.field({
    type: 'String',
    nullable: true,
    select: PORTS_SELECT,
    description:
      'Where its first port is reached, that of its template or else of its image; null while neither names one.',
    resolve: (instance, _args, { deps }) => webUrlOfInstance(deps.settings, instance),
  }),
  ports: t.field({
    type: [InstancePortType],
    select: PORTS_SELECT,
    description: 'The ports that its template or image names, and those that were opened. Any other port works too.',
    resolve: (instance, _args, { deps }) => portsOfInstance(deps.settings, instance),
  }),
}));

builder.queryFields((t) => ({
  instanceLinks: t.field({
    type: InstanceLinksType,
    ...NEEDS_KEY,
    nullable: true,
    description:
      'The named ports of an instance, with the tokens and passwords that were made for it. Whoever reads this may open them. Refused once it is destroyed. Needs an API key.',
    args: { id: t.arg.id({ required: true, ...fromField(fields.instanceId) }) },
    resolve: (_root, { id }, context) => instanceLinks(context.deps, accountOf(context), id),
  }),
}));

const PORT_ARGUMENT = fromField(fields.port);

builder.mutationFields((t) => ({
  openPort: t.field({
    type: InstanceType,
    ...NEEDS_KEY,
    nullable: true,
    description: 'Lets anybody visit a port of an instance, by its address. At most 20 of one instance.',
    args: {
      id: t.arg.id({ required: true, ...fromField(fields.instanceId) }),
      port: t.arg.int({ required: true, ...PORT_ARGUMENT }),
    },
    resolve: (_root, { id, port }, context) => openPort(context.deps, accountOf(context), id, port),
  }),
  closePort: t.field({
    type: InstanceType,
    ...NEEDS_KEY,
    nullable: true,
    description: 'Makes a port private again; what visitors have open on it ends.',
    args: {
      id: t.arg.id({ required: true, ...fromField(fields.instanceId) }),
      port: t.arg.int({ required: true, ...PORT_ARGUMENT }),
    },
    resolve: (_root, { id, port }, context) => closePort(context.deps, accountOf(context), id, port),
  }),
  webLink: t.field({
    type: WebLinkType,
    ...NEEDS_KEY,
    nullable: true,
    description:
      'A link that lets one browser in to a private port: good for one use within a minute. The link and its cookie end with the API key that asked for it.',
    args: {
      id: t.arg.id({ required: true, ...fromField(fields.instanceId) }),
      port: t.arg.int({ ...PORT_ARGUMENT, description: 'The port; left out: the first.' }),
      path: t.arg.string(fromField(fields.webPath)),
    },
    resolve: (_root, args, context) => createWebLink(context.deps, callerOf(context), args),
  }),
  webToken: t.field({
    type: WebTokenType,
    ...NEEDS_KEY,
    nullable: true,
    description:
      'A token that lets programs in to a private port for a day, in a header. It ends with the API key that requested it, like the cookie of a webLink.',
    args: {
      id: t.arg.id({ required: true, ...fromField(fields.instanceId) }),
      port: t.arg.int({ ...PORT_ARGUMENT, description: 'The port; left out: the first.' }),
    },
    resolve: (_root, args, context) => createWebToken(context.deps, callerOf(context), args),
  }),
}));

import { fields } from '../domain/fields.js';
import { closePort, openPort } from '../domain/web-ports/open-ports.js';
import { type InstancePort, PORTS_SELECT, portsOfInstance, webUrlOfInstance } from '../domain/web-ports/ports.js';
import { createWebLink, type WebLink } from '../domain/web-ports/web-links.js';
import { builder, fromField, NEEDS_KEY } from './builder.js';
import { accountOf, callerOf } from './context.js';
import { InstanceType } from './instances.js';

const InstancePortType = builder.objectRef<InstancePort>('InstancePort').implement({
  description: 'A port of an instance, reached by HTTP through the gateway.',
  fields: (t) => ({
    port: t.exposeInt('port', { description: 'The port that a program in the container listens on.' }),
    url: t.exposeString('url', { description: 'Where it is reached. A private port needs the cookie of a webLink.' }),
    open: t.exposeBoolean('isOpen', { description: 'Whether anybody may visit it.' }),
  }),
});

const WebLinkType = builder.objectRef<WebLink>('WebLink').implement({
  description: 'Lets one browser in to a private port.',
  fields: (t) => ({
    url: t.exposeString('url', { description: 'Good for one use. Its cookie lets in for a day.' }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'Until when it may be followed.' }),
  }),
});

builder.prismaObjectFields(InstanceType, (t) => ({
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
}));

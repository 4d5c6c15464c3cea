import { instanceFields } from '../domain/instances/fields.js';
import { updateFields } from '../domain/updates/fields.js';
import { followLogs, instanceLogs } from '../domain/updates/instance-logs.js';
import type { LogLine } from '../domain/updates/rules/log-line.js';
import { builder, fromField, NEEDS_KEY } from './builder.js';
import { callerOf } from './context.js';

const OutputStream = builder.enumType('OutputStream', {
  description: 'The stream to which a program wrote a line.',
  values: { STDOUT: { description: 'Standard output.' }, STDERR: { description: 'Standard error.' } },
});

const LogLineType = builder.objectRef<LogLine>('LogLine').implement({
  description: 'A line written by the container of an instance.',
  fields: (t) => ({
    time: t.exposeString('time', { description: 'Time of writing: RFC 3339 in UTC with nine decimals.' }),
    stream: t.expose('stream', { type: OutputStream, description: 'Stream to which it was written.' }),
    text: t.exposeString('text', { description: 'The line without its terminator, at most 16,384 characters.' }),
    isPartial: t.exposeBoolean('isPartial', {
      description:
        'Whether the line has no end yet, such as a prompt or a progress bar. A later line of the same stream and time replaces it.',
    }),
  }),
});

const SINCE = 'Only lines written in this second or later.';

builder.queryFields((t) => ({
  instanceLogs: t.field({
    type: [LogLineType],
    ...NEEDS_KEY,
    nullable: true,
    description:
      'The last lines that the container wrote, oldest first; also for a stopped instance. The machine keeps about 10 MB. Needs an API key.',
    args: {
      id: t.arg.id({ required: true, ...fromField(instanceFields.instanceId) }),
      tail: t.arg.int(fromField(updateFields.logTail)),
      since: t.arg({ type: 'DateTime', description: SINCE }),
    },
    resolve: (_root, args, context) => instanceLogs(context.deps, callerOf(context), args, context.untilGone()),
  }),
}));

builder.subscriptionFields((t) => ({
  instanceLogged: t.field({
    type: [LogLineType],
    ...NEEDS_KEY,
    description:
      'The last lines that the container wrote, then new lines as they are written; an event can have several. Continues when the container is restarted. Needs an API key.',
    args: {
      id: t.arg.id({ required: true, ...fromField(instanceFields.instanceId) }),
      tail: t.arg.int(fromField(updateFields.logTail)),
      since: t.arg({ type: 'DateTime', description: SINCE }),
    },
    subscribe: (_root, args, context) => followLogs(context.deps, callerOf(context), args, context.untilGone()),
    resolve: (lines) => lines,
  }),
}));

import { fields } from '../domain/fields.js';
import type { LogLine } from '../domain/rules/log-line.js';
import { followLogs, instanceLogs } from '../domain/updates/instance-logs.js';
import { builder, fromField, NEEDS_KEY } from './builder.js';
import { callerOf } from './context.js';

const OutputStream = builder.enumType('OutputStream', {
  description: 'Where a program wrote a line.',
  values: { STDOUT: { description: 'Standard output.' }, STDERR: { description: 'Standard error.' } },
});

const LogLineType = builder.objectRef<LogLine>('LogLine').implement({
  description: 'A line that the container of an instance wrote.',
  fields: (t) => ({
    time: t.exposeString('time', { description: 'When it was written: RFC 3339 in UTC with nine decimals.' }),
    stream: t.expose('stream', { type: OutputStream, description: 'Where it was written.' }),
    text: t.exposeString('text', { description: 'The line without its end, 16,384 characters at most.' }),
    isPartial: t.exposeBoolean('isPartial', {
      description:
        'Whether the line has no end yet, such as a prompt or a progress bar. A later line of the same stream and time replaces it.',
    }),
  }),
});

const SINCE = 'Only what was written in this second or later.';

builder.queryFields((t) => ({
  instanceLogs: t.field({
    type: [LogLineType],
    ...NEEDS_KEY,
    nullable: true,
    description:
      'The last lines that the container wrote, oldest first; of a stopped instance too. The machine keeps about 10 MB. Needs an API key.',
    args: {
      id: t.arg.id({ required: true, ...fromField(fields.instanceId) }),
      tail: t.arg.int(fromField(fields.logTail)),
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
      'The last lines that the container wrote, and then each as it is written, several in one event. Goes on when the container is started again. Needs an API key.',
    args: {
      id: t.arg.id({ required: true, ...fromField(fields.instanceId) }),
      tail: t.arg.int(fromField(fields.logTail)),
      since: t.arg({ type: 'DateTime', description: SINCE }),
    },
    subscribe: (_root, args, context) => followLogs(context.deps, callerOf(context), args, context.untilGone()),
    resolve: (lines) => lines,
  }),
}));

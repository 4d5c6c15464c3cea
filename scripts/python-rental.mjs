// Prints the Python SDK's deploy and its model of an instance's terms from the schemas of the OpenAPI document.
const WIDTH = 120;
const ARGUMENTS = { string: 'str', integer: 'int', number: 'float', object: 'Mapping[str, str]' };
/** Amounts are exact. */
const MEMBERS = { string: 'str', integer: 'int', number: 'Decimal', object: 'Dict[str, str]' };

/** Returns the module's text. Parameters up to `type` can be given by position. */
export function printRental({ DeployRequest, InstanceLaunch }) {
  const inputs = Object.entries(DeployRequest.properties);
  const positional = inputs.findIndex(([name]) => name === 'type') + 1;
  const parameters = inputs.map(parameterOf);
  return `"""The deploy of an instance, and its terms. Made by \`\`npm run schema\`\`; do not edit."""

import json
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple

from .models import AttachedVolume, Instance, Launch
from .transport import Transport


@dataclass(frozen=True)
class InstanceLaunch:
    """An instance's launch settings, and what ends it automatically."""

${Object.entries(InstanceLaunch.properties).map(memberOf).join('\n')}


class Deploys:
    _transport: Transport

    def deploy(
        self,
${parameters.slice(0, positional).join('\n')}
        *,
${parameters.slice(positional).join('\n')}
        idempotency_key: Optional[str] = None,
    ) -> Instance:
        """Rents a machine. Its hourly rate is locked for the life of the instance.

${inputs.map(docOf).join('\n')}
        :raises DeployFailed: The balance is too low, the machine is taken or unknown, the disk is too large, or a
            secret is unknown.
        :raises MissingMachine: \`machine_id\` is empty.
        :raises InvalidRequest: A value is out of bounds.
        :raises IdempotencyMismatch: \`idempotency_key\` was used for something else.
        """
        fields = {
${inputs.map(([name]) => `            "${name}": ${name},`).join('\n')}
        }
        given = {name: value for name, value in fields.items() if value is not None}
        body = json.dumps(given, default=_plain).encode()
        return self._transport.request(Instance, "POST", "/instances", body=body, idempotency_key=idempotency_key)


def _plain(collection: Any) -> Any:
    return dict(collection) if isinstance(collection, Mapping) else list(collection)
`;
}

function parameterOf([name, property]) {
  const [schema, isOptional] = withoutNull(property);
  const type = argumentType(schema);
  return `        ${name}: ${isOptional ? `Optional[${type}] = None` : type},`;
}

function docOf([name, property]) {
  const [{ default: usual, enum: values, items }] = withoutNull(property);
  const sentences = [property.description];
  if (values !== undefined) sentences.push(`One of ${namesOf(values)}.`);
  if (items?.type === 'object') sentences.push(`Each has ${namesOf(Object.keys(items.properties))}.`);
  if (usual !== undefined) sentences.push(`The service's default is \`${usual}\`.`);
  return `        ${wrapped(`:param ${name}: ${sentences.join(' ')}`, '            ')}`;
}

function memberOf([name, property]) {
  const [schema, isOptional] = withoutNull(property);
  const type = memberType(schema);
  const line = `    ${name}: ${isOptional ? `Optional[${type}]` : type}`;
  const { description } = property;
  return description === undefined
    ? line
    : `    #: ${wrapped(description.replaceAll(/\bnull\b/gi, 'None'), '    #: ')}\n${line}`;
}

/** Returns the schema without null, and whether it allows null. */
function withoutNull(schema) {
  if (schema.anyOf !== undefined) return [schema.anyOf[0], true];
  return Array.isArray(schema.type) ? [{ ...schema, type: schema.type[0] }, true] : [schema, false];
}

function argumentType({ type, items }) {
  if (type !== 'array') return ARGUMENTS[type];
  return `Sequence[${items.type === 'object' ? 'Mapping[str, Any]' : argumentType(items)}]`;
}

function memberType({ type, format, items, $ref }) {
  if ($ref !== undefined) return $ref.split('/').at(-1);
  if (type === 'array') return `Tuple[${memberType(items)}, ...]`;
  return format === 'date-time' ? 'datetime' : MEMBERS[type];
}

function namesOf(values) {
  return values.map((value) => `\`${value}\``).join(', ');
}

/** Wraps a text. Lines after the first begin with the indent. */
function wrapped(text, indent) {
  const words = text.replaceAll('`', '``').split(' ');
  return words.reduce(
    ({ lines, length }, word) => {
      const isFull = length + word.length >= WIDTH;
      const start = isFull ? `\n${indent}` : length === indent.length ? '' : ' ';
      return { lines: lines + start + word, length: (isFull ? indent.length : length + start.length) + word.length };
    },
    { lines: '', length: indent.length },
  ).lines;
}

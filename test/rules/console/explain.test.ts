import { expect, test } from 'vitest';
import { Refusal } from '../../../web/graph/send.js';
import { explain } from '../../../web/state/explain.js';
import { translations } from '../../../web/texts/de/errors.js';

const UNCHAINED = "the chain of the account's older entries isn't complete yet; retry later";

test('a message with its own text is not replaced by the text of its code', () => {
  expect(explain(new Refusal('unavailable', UNCHAINED)).text).toContain('still being chained');
  expect(explain(new Refusal('unavailable', 'the database is busy')).text).toContain('busy or restarting');
});

test.each([
  UNCHAINED,
  "this service can't store secrets or sign documents: its operator has not set SECRETS_KEY",
  'name must be a string of 0 to 200 characters',
])('there is a German text for: %s', (message) => {
  expect(translations.filter(([pattern]) => pattern.test(message))).toHaveLength(1);
});

import { expect, it } from 'vitest';
import { readUser } from '../../src/agent/engine/image-user.js';

const PASSWD =
  'root:x:0:0::/:/bin/sh\nan:x:7:7::/:/bin/sh\nann:x:1234:5::/:/bin/sh\nodd:x:-1:5::/:/bin/sh\nodder:x:1e3\n';

it.each([
  ['', 0],
  ['0', 0],
  ['1234', 1_234],
  ['1234:5', 1_234],
  [':5', 0],
  ['ann', 1_234],
  ['ann:staff', 1_234],
  ['an', 7],
  ['nobody-here', 0],
  ['odd', 0],
  ['99999999999', 0],
])("the user id is resolved for an image's USER %j", async (user, id) => {
  expect(await readUser(user, async () => PASSWD)).toBe(id);
  expect(await readUser(user, async () => '')).toBe(/^\d/.test(user) ? id : 0);
});

// node deploy/ready.mjs [SECONDS]    exit code 0 if the gateway of this host is ready; with SECONDS, keeps asking that long
import { setTimeout as sleep } from 'node:timers/promises';

const ASK_AGAIN_MS = 200;
const ANSWERS_WITHIN_MS = 5_000;
const url = `http://127.0.0.1:${process.env.PORT || 4000}/readyz`;
const until = performance.now() + Number(process.argv[2] ?? 0) * 1_000;

const isReady = () =>
  fetch(url, { signal: AbortSignal.timeout(ANSWERS_WITHIN_MS) }).then(
    ({ ok }) => ok,
    () => false,
  );

let ready = await isReady();
while (!ready && performance.now() < until) {
  await sleep(ASK_AGAIN_MS);
  ready = await isReady();
}
process.exit(ready ? 0 : 1);

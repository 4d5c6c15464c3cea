// node deploy/ready.mjs [SECONDS]    exit code 0 if the gateway of this host is ready; with SECONDS, polls that long
// Stops polling when the process MAINPID has ended, which systemd sets to that of the gateway.
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

const hasEnded = () => {
  if (!process.env.MAINPID) return false;
  try {
    process.kill(Number(process.env.MAINPID), 0);
    return false;
  } catch (error) {
    return error.code === 'ESRCH';
  }
};

let ready = await isReady();
while (!ready && !hasEnded() && performance.now() < until) {
  await sleep(ASK_AGAIN_MS);
  ready = await isReady();
}
process.exit(ready ? 0 : 1);

const ends: (() => void)[] = [];

/**
 * Runs `end` when this worker exits, to clean up what its test files share. Vitest ends a worker with SIGTERM, and a
 * worker whose run was killed has lost its channel. In both cases, Node runs no `exit` listener unless the process
 * itself exits.
 */
export function atEndOfWorker(end: () => void): void {
  if (ends.push(end) > 1) return;
  process.once('exit', () => {
    for (const each of ends) each();
  });
  for (const event of ['SIGTERM', 'disconnect']) process.once(event, () => process.exit());
}

// npm run console:vitals      measures every screen of the console in Chromium: layout shift (CLS), largest paint (LCP),
// the compressed JavaScript of a first visit, and the time from an interaction in a long list to the next frame (INP)
// It uses a temporary gateway with the demo's machines. Times depend on the computer, which should be idle. It exits with
// 1 if a screen shifts or a first visit loads too much, because these don't depend on the computer.
import { loadavg } from 'node:os';
import { firstLoads, MOST_BYTES } from './console-size.mjs';
import { graphql, launchChromium, manyInstances, signIn, used } from './console-visit.mjs';
import { withFreshGateway } from './fresh-gateway.mjs';

const WINDOWS = [
  { width: 1440, height: 900 },
  { width: 1024, height: 768 },
  { width: 390, height: 844 },
];
const ROWS = 1_500;
const MOST = { bytes: MOST_BYTES, shift: 0.02, paintMs: 1_200, interactionMs: 200 };
/** All screens in turn would exceed the limit. */
const NO_RATE_LIMIT = { RATE_LIMIT_PER_MINUTE: '0' };
/** Long enough for a screen's requests and charts. */
const SETTLES_MS = 2_000;

const screens = (id) => ({
  'signed out': ['/', '/machines', '/deploy?gpu=rtx-4090', '/sign-in', '/verify'],
  'signed in': [
    ...['/', '/machines', '/deploy?gpu=rtx-4090', '/instances', '/instances?show=history'],
    ...['', '?tab=activity', '?tab=log'].map((tab) => `/instances/${id}${tab}`),
    ...['/volumes', '/billing', '/keys', '/activity', '/notifications'],
  ],
});

/** Records from the start of a page how far its parts move and when its largest part is painted. */
function record() {
  window.vitals = { shift: 0, paintMs: 0, moved: '' };
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput, sources } of list.getEntries()) {
      if (hadRecentInput) continue;
      window.vitals.shift += value;
      const [first] = sources;
      if (value > 0.005) window.vitals.moved = `${first?.node?.nodeName ?? ''}.${first?.node?.className ?? ''}`;
    }
  }).observe({ type: 'layout-shift', buffered: true });
  new PerformanceObserver((list) => {
    window.vitals.paintMs = list.getEntries().at(-1).startTime;
  }).observe({ type: 'largest-contentful-paint', buffered: true });
}

async function visited(browser, gateway, viewport, isIn, path) {
  const context = await browser.newContext({ viewport });
  if (isIn) {
    await signIn(context, gateway);
    // As after signing in on the page.
    await context.addInitScript(() => localStorage.setItem('signed-in', '1'));
  }
  await context.addInitScript(record);
  const page = await context.newPage();
  await page.goto(gateway.address + path);
  await page.locator('main h1').first().waitFor();
  await page.waitForTimeout(SETTLES_MS);
  const vitals = await page.evaluate(() => window.vitals);
  await context.close();
  return vitals;
}

const mark = (value, most) => (value > most ? ' !' : '');

for (const [name, bytes] of await firstLoads()) {
  console.log(`first visit, ${name}: ${(bytes / 1_000).toFixed(1)} kB of JavaScript${mark(bytes, MOST.bytes)}`);
  if (bytes > MOST.bytes) process.exitCode = 1;
}
await withFreshGateway(async (gateway) => {
  const browser = await launchChromium();
  const { deployBest } = await graphql(gateway, 'mutation { deployBest(input: { gpus: ["t4"] }) { id } }');
  for (const [who, paths] of Object.entries(screens(deployBest.id))) {
    for (const path of paths) {
      const cells = [];
      for (const viewport of WINDOWS) {
        const { shift, paintMs, moved } = await visited(browser, gateway, viewport, who === 'signed in', path);
        if (shift > MOST.shift) process.exitCode = 1;
        const shifted = `CLS ${shift.toFixed(3)}${mark(shift, MOST.shift)}${shift > MOST.shift ? ` (${moved})` : ''}`;
        cells.push(`${viewport.width} px: ${shifted}, LCP ${Math.round(paintMs)} ms${mark(paintMs, MOST.paintMs)}`);
      }
      console.log(`${who}, ${path.replace(deployBest.id, 'ID')}: ${cells.join('; ')}`);
    }
  }
  const context = await browser.newContext({ viewport: WINDOWS[0] });
  await signIn(context, gateway);
  const page = await context.newPage();
  await manyInstances(page, ROWS);
  await page.goto(`${gateway.address}/instances`);
  await page.getByRole('row').nth(10).waitFor();
  const { keys, all } = await used(page);
  const slowest = Math.max(...keys, ...all);
  console.log(
    `${ROWS} instances, any interaction: at most ${slowest} ms (INP)${mark(slowest, MOST.interactionMs)}; load ${loadavg()[0].toFixed(1)}`,
  );
  await browser.close();
}, NO_RATE_LIMIT);

// npm run console:speed      measures the first visit over a slow connection, and scrolling through long lists, in Chromium
// It uses a temporary gateway with the demo's machines. Times depend on the computer, which should be idle.
import { graphql, launchChromium, manyInstances, signIn, used } from './console-visit.mjs';
import { withFreshGateway } from './fresh-gateway.mjs';

const ROWS = [200, 1_500];
/** Milliseconds between two changes of a list of instances. */
const CHANGE_EVERY_MS = 500;
const VISITS = 5;
const FRAMES = 120;
/** Pixels scrolled per frame. */
const STEP_PX = 120;
/** WebPageTest's slow 3G profile: 400 ms to the first byte of each response, then 400 kbit/s. */
const FIRST_BYTE = { offline: false, latency: 400, downloadThroughput: -1, uploadThroughput: -1 };
const SLOW_3G = { ...FIRST_BYTE, downloadThroughput: 50_000, uploadThroughput: 50_000 };

const middle = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

async function firstSight(browser, { address }, line) {
  const visits = [];
  for (let visit = 0; visit < VISITS; visit += 1) {
    const context = await browser.newContext({ viewport: { width: 1_400, height: 900 } });
    const page = await context.newPage();
    const cdp = await context.newCDPSession(page);
    await cdp.send('Network.enable');
    await cdp.send('Network.emulateNetworkConditions', line);
    await page.goto(address);
    await page.getByText(/GPUs free now/).waitFor();
    await page.waitForTimeout(1_500);
    visits.push(
      await page.evaluate(
        () =>
          new Promise((resolve) => {
            new PerformanceObserver((list) => {
              const last = list.getEntries().at(-1);
              const [navigation] = performance.getEntriesByType('navigation');
              const [paint] = performance.getEntriesByName('first-contentful-paint');
              const what = `${last.element?.tagName.toLowerCase()} "${last.element?.textContent.slice(0, 40)}"`;
              resolve({ firstByte: navigation.responseStart, paint: paint.startTime, largest: last.startTime, what });
            }).observe({ type: 'largest-contentful-paint', buffered: true });
          }),
      ),
    );
    await context.close();
  }
  const ms = (name) => Math.round(middle(visits.map((visit) => visit[name])));
  return `first byte ${ms('firstByte')} ms, first paint ${ms('paint')} ms, largest paint ${ms('largest')} ms: ${visits[0].what}`;
}

/** Scrolls a list from the top. Returns the frame times, and the time that the main thread works per frame. */
async function scrolled(page) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('Performance.enable', { timeDomain: 'threadTicks' });
  const metrics = async () =>
    Object.fromEntries((await cdp.send('Performance.getMetrics')).metrics.map(({ name, value }) => [name, value]));
  const before = await metrics();
  const times = await page.evaluate(
    async ([frames, step]) => {
      const times = [];
      let last = performance.now();
      await new Promise((done) => {
        const draw = (now) => {
          times.push(now - last);
          last = now;
          scrollBy(0, step);
          if (times.length < frames) requestAnimationFrame(draw);
          else done();
        };
        requestAnimationFrame(draw);
      });
      return times.slice(1);
    },
    [FRAMES, STEP_PX],
  );
  const after = await metrics();
  const cpu = (name) => (((after[name] - before[name]) * 1_000) / times.length).toFixed(2);
  const parts = ['ScriptDuration', 'RecalcStyleDuration', 'LayoutDuration'].map((name) => `${name} ${cpu(name)}`);
  const long = times.filter((time) => time > 25).length;
  return `frames of ${middle(times).toFixed(1)} ms, ${long} of ${times.length} longer than 25 ms; ${cpu('TaskDuration')} ms of CPU per frame (${parts.join(', ')}); ${after.Nodes} nodes`;
}

/** Returns the main thread's CPU time while the page is left untouched, in ms per second. */
async function resting(page) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('Performance.enable', { timeDomain: 'threadTicks' });
  const spent = async () =>
    (await cdp.send('Performance.getMetrics')).metrics.find(({ name }) => name === 'TaskDuration').value;
  const before = await spent();
  await page.waitForTimeout(5_000);
  return `${((((await spent()) - before) * 1_000) / 5) | 0} ms of CPU per second at rest`;
}

/** Lets changes arrive until the returned function is called. The page reads its account again when it gets the focus. */
async function changing(page) {
  await page.evaluate((ms) => {
    window.changes = setInterval(() => dispatchEvent(new Event('focus')), ms);
  }, CHANGE_EVERY_MS);
  return () => page.evaluate(() => clearInterval(window.changes));
}

await withFreshGateway(async (gateway) => {
  const browser = await launchChromium();
  console.log(`first visit, 400 ms to each first byte: ${await firstSight(browser, gateway, FIRST_BYTE)}`);
  console.log(`first visit, and 400 kbit/s:             ${await firstSight(browser, gateway, SLOW_3G)}`);
  const context = await browser.newContext({ viewport: { width: 1_400, height: 900 } });
  await signIn(context, gateway);
  const page = await context.newPage();
  await page.goto(`${gateway.address}/machines?sort=VRAM`);
  await page.locator('.offer').nth(20).waitFor();
  const { offerSearch } = await graphql(gateway, '{ offerSearch(first: 1) { totalCount } }');
  console.log(`${offerSearch.totalCount} machines: ${await scrolled(page)}; ${await resting(page)}`);
  await graphql(gateway, 'mutation { deployBest(input: { gpus: ["t4"] }) { id } }');
  for (const rows of ROWS) {
    await manyInstances(page, rows);
    await page.goto(`${gateway.address}/instances`);
    await page.getByRole('row').nth(10).waitFor();
    const rest = await resting(page);
    const unchanged = await scrolled(page);
    const end = await changing(page);
    await page.evaluate(() => scrollTo(0, 0));
    console.log(`${rows} instances: ${unchanged}; ${rest}`);
    console.log(`${rows} instances, changing: ${await scrolled(page)}`);
    const { keys, all } = await used(page);
    console.log(
      `${rows} instances, changing: keystroke ${middle(keys)} ms, at most ${Math.max(...keys)} ms; any interaction at most ${Math.max(...keys, ...all)} ms`,
    );
    await end();
  }
  await browser.close();
});

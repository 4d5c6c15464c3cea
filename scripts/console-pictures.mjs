// npm run console:pictures                    writes the pictures for docs/console.md and the landing page, using a
//                                             temporary gateway with made-up rentals
// npm run console:pictures -- PREFIX          writes only the pictures whose names begin with PREFIX
// The files are small because they have few colours and show at most one screen each.
import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { graphql, launchChromium, signIn } from './console-visit.mjs';
import { withFreshGateway } from './fresh-gateway.mjs';

const FOLDER = fileURLToPath(new URL('../docs/images', import.meta.url));
const PRODUCT = fileURLToPath(new URL('../web/product', import.meta.url));
const PRODUCT_QUALITY = 80;
const RENTALS = [
  { gpus: ['h100-sxm'], template: 'pytorch', mode: 'ON_DEMAND' },
  { gpus: ['rtx-4090'], template: 'ghcr.io/acme/train:1.2', mode: 'RESERVED' },
  { gpus: ['rtx-4090'], template: 'comfyui', mode: 'INTERRUPTIBLE' },
];
/** Long enough for a charge, and for a live figure to change. */
const SPENDING_MS = 15_000;

/** Each screen is captured on a wide window in light colours, and some also on a narrow one or in dark colours. */
const pictures = (id) => [
  { name: 'console-first-sight', path: '/', signedIn: false },
  { name: 'console-first-sight-narrow', path: '/', signedIn: false, narrow: true, dark: true },
  { name: 'console-machines', path: '/machines', signedIn: false },
  { name: 'console-machines-dark', path: '/machines?region=us-tx', dark: true },
  { name: 'console-machines-narrow', path: '/machines', narrow: true },
  { name: 'console-home', path: '/' },
  { name: 'console-home-narrow', path: '/', narrow: true, dark: true },
  { name: 'console-deploy', path: '/deploy?gpu=rtx-4090&mode=RESERVED' },
  { name: 'console-deploy-copy', path: '/deploy?gpu=h100-sxm&disk=100&stop-at=8h&as=python', dark: true, foot: true },
  { name: 'console-deploy-narrow', path: '/deploy?gpu=rtx-4090', narrow: true, dark: true },
  { name: 'console-instances', path: '/instances' },
  { name: 'console-history', path: '/instances?show=history&model=rtx-4090' },
  { name: 'console-instances-narrow', path: '/instances', narrow: true },
  { name: 'console-instance', path: `/instances/${id}`, dark: true },
  { name: 'console-instance-narrow', path: `/instances/${id}`, narrow: true },
  { name: 'console-money', path: '/billing' },
  { name: 'console-money-narrow', path: '/billing', narrow: true, dark: true },
  { name: 'console-keys', path: '/keys' },
  { name: 'console-keys-narrow', path: '/keys', narrow: true },
  { name: 'console-sign-in', path: '/sign-in', signedIn: false },
  { name: 'console-sign-in-narrow', path: '/sign-in', signedIn: false, narrow: true, dark: true },
];

/** The pictures on the landing page, one for each language and theme. */
const PRODUCT_PICTURES = ['en', 'de'].flatMap((locale) =>
  [false, true].map((dark) => ({ name: `${locale}-${dark ? 'dark' : 'light'}`, locale, dark })),
);

async function rentSome(gateway) {
  const ids = [];
  for (const input of RENTALS) {
    const { deployBest } = await graphql(
      gateway,
      'mutation ($input: DeployBestInput!) { deployBest(input: $input) { id } }',
      {
        input,
      },
    );
    ids.push(deployBest.id);
  }
  await new Promise((resolve) => setTimeout(resolve, SPENDING_MS));
  await graphql(gateway, 'mutation ($id: ID!) { action(id: $id, action: STOP) { id } }', { id: ids.at(-1) });
  return ids[0];
}

async function take(browser, gateway, { name, path, signedIn = true, dark = false, narrow = false, foot = false }) {
  const context = await browser.newContext({
    viewport: narrow ? { width: 390, height: 780 } : { width: 1400, height: 860 },
    colorScheme: dark ? 'dark' : 'light',
    reducedMotion: 'reduce',
    timezoneId: 'Europe/Berlin',
  });
  if (signedIn) await signIn(context, gateway);
  const page = await context.newPage();
  await page.goto(gateway.address + path);
  await page
    .getByText('Live', { exact: true })
    .or(page.getByRole('heading', { name: 'Sign in' }))
    .first()
    .waitFor();
  await page.waitForLoadState('load');
  await page.waitForTimeout(1_500);
  // Loading all screens in turn exceeds the account's rate limit, so the page may have to retry before it is complete.
  await page.waitForFunction(() => !/too many requests|rate limit|Loading /.test(document.body.innerText), null, {
    timeout: 90_000,
  });
  await page.waitForTimeout(500);
  if (foot) await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
  await writeFile(`${FOLDER}/${name}.png`, await page.screenshot());
  await context.close();
}

async function takeProduct(browser, gateway, { name, locale, dark }) {
  const context = await browser.newContext({
    viewport: { width: 1400, height: 860 },
    deviceScaleFactor: 1.5,
    colorScheme: dark ? 'dark' : 'light',
    reducedMotion: 'reduce',
    locale,
    timezoneId: 'Europe/Berlin',
  });
  await signIn(context, gateway);
  const page = await context.newPage();
  await page.goto(`${gateway.address}/deploy?gpu=rtx-4090`);
  await page.locator('main .primary').first().waitFor();
  await page.waitForLoadState('load');
  await page.waitForTimeout(2_000);
  // Services with real machines don't show this note.
  await page.getByText(/^\s*(Demo machine|Demomaschine):/).evaluate((note) => note.remove());
  const session = await context.newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', {
    format: 'webp',
    quality: PRODUCT_QUALITY,
    // Without the frame, which has the operator's name.
    clip: { x: 248, y: 84, width: 1136, height: 768, scale: 1 },
  });
  await writeFile(`${PRODUCT}/${name}.webp`, Buffer.from(data, 'base64'));
  await context.close();
}

const [prefix = ''] = process.argv.slice(2);
const isWanted = ({ name }) => name.startsWith(prefix);
await mkdir(FOLDER, { recursive: true });
await mkdir(PRODUCT, { recursive: true });
await withFreshGateway(async (gateway) => {
  const browser = await launchChromium();
  // Without rentals, the time for which the balance lasts follows from the price next to it.
  for (const picture of PRODUCT_PICTURES.filter(isWanted)) await takeProduct(browser, gateway, picture);
  const id = await rentSome(gateway);
  for (const picture of pictures(id).filter(isWanted)) await take(browser, gateway, picture);
  await browser.close();
});

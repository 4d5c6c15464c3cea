import { useEffect } from 'preact/hooks';
import { Head } from './parts/head.js';
import { loaded } from './parts/loaded.js';
import { Overlays } from './parts/overlays.js';
import { StatusLine } from './parts/status-line.js';
import { FirstSight } from './screens/first-sight.js';
import { SignIn } from './screens/sign-in.js';
import { deployPathOfOld } from './state/deploy-link.js';
import { FILTER_NAMES } from './state/filters.js';
import { go, path, query } from './state/location.js';
import { isExpectedIn, session } from './state/session.js';
import { startShortcuts } from './state/shortcuts.js';
import { useTitle } from './state/title.js';
import { texts } from './texts/en/house.js';

const loadHome = async () => (await import('./screens/home.js')).Home;
const loadInstance = async () => (await import('./screens/instance.js')).InstanceScreen;
const loadInstances = async () => (await import('./screens/instances.js')).Instances;
const loadMachines = async () => (await import('./screens/machines.js')).Machines;
const loadMoney = async () => (await import('./screens/money.js')).Money;
// Visitors don't need it. For others, it arrives together with the session.
if (isExpectedIn()) void loadHome().catch(() => {});
const Home = loaded(loadHome);
const InstanceScreen = loaded<{ id: string }>(loadInstance);
const Instances = loaded<{ id: string }>(loadInstances);
const Machines = loaded(loadMachines);
const Money = loaded<{ id: string }>(loadMoney);
const Webhooks = loaded<{ id: string }>(async () => (await import('./screens/webhooks.js')).Webhooks);
const Activity = loaded<{ id: string }>(async () => (await import('./screens/activity.js')).Activity);
const Volumes = loaded<{ id: string }>(async () => (await import('./screens/volumes.js')).Volumes);
const Keys = loaded<{ id: string }>(async () => (await import('./screens/keys.js')).Keys);
const Models = loaded(async () => (await import('./screens/models.js')).Models);
const DeployPage = loaded(async () => (await import('./screens/deploy.js')).DeployPage);

export function App() {
  useFocusOnNewScreen();
  useEffect(startShortcuts, []);
  useEffect(() => {
    // Frequently used screens are fetched ahead of time, so that they open immediately, even without a connection.
    if (session.value === 'in')
      void Promise.allSettled([loadHome(), loadMachines(), loadInstances(), loadInstance(), loadMoney()]);
  }, [session.value]);
  return (
    <>
      <a class="skip" href="#main">
        {texts.skip}
      </a>
      <Head />
      <main id="main" tabIndex={-1}>
        <Screen />
      </main>
      <StatusLine />
      <Overlays />
    </>
  );
}

function Screen() {
  const [, first = '', second, third] = path.value.split('/');
  if (first === '') return <Start />;
  if (first === 'machines' && second === undefined)
    return query.value.has('deploy') ? <Renting of={query.value} /> : <Machines />;
  if (first === 'models' && second === undefined) return <Models />;
  if (first === 'deploy' && second === undefined) return <DeployPage key="deploy" />;
  if (first === 'launch' && second === undefined) return <DeployPage key="launch" isLink />;
  if (first === 'sign-in') return <SigningIn />;
  const Private = {
    instances: second ? InstanceScreen : Instances,
    volumes: Volumes,
    billing: Money,
    keys: Keys,
    activity: Activity,
    notifications: Webhooks,
  }[first];
  if (Private === undefined || third !== undefined || (second !== undefined && Private !== InstanceScreen))
    return <Nothing />;
  if (session.value === 'unknown') return <p class="quiet">{texts.moment}</p>;
  if (session.value === 'out') return <SignIn reason={texts.private} />;
  return <Private key={second} id={second ?? ''} />;
}

function SigningIn() {
  // Until the session is known, the form would lack some ways to sign in.
  if (session.value === 'unknown') return <p class="quiet">{texts.moment}</p>;
  return session.value === 'in' ? <Continue /> : <SignIn />;
}

/** Redirects URLs from when renting was a dialog on the machines screen. */
function Renting({ of: parameters }: { of: URLSearchParams }) {
  useEffect(() => go(deployPathOfOld(parameters), { replace: true }), []);
  return null;
}

/** Redirects old links to the first screen that contain requirements, so that they still lead to matching machines. */
function Start() {
  const isOldLink = [...FILTER_NAMES, 'deploy'].some((name) => query.value.has(name));
  useEffect(() => {
    if (isOldLink) go(`/machines${location.search}`, { replace: true });
  }, [isOldLink]);
  if (isOldLink) return null;
  if (session.value === 'unknown' && isExpectedIn()) return <p class="quiet">{texts.moment}</p>;
  return session.value === 'in' ? <Home /> : <FirstSight />;
}

/** Shown for unknown URLs, for which the service also returns this page. */
function Nothing() {
  useTitle(texts.notFoundTitle);
  return (
    <div class="stack">
      <h1 tabIndex={-1}>{texts.notFound}</h1>
      <p>
        <a href="/machines">{texts.seeMachines}</a>
      </p>
    </div>
  );
}

/** Continues to the requested URL after sign-in. The URL is always on this origin. */
function Continue() {
  useEffect(() => {
    const then = query.value.get('then') ?? '/';
    const parameters = URL.canParse(then, location.origin) ? new URL(then, location.origin) : null;
    // A path that begins with two slashes would name another host.
    const isOurs = parameters?.origin === location.origin && !parameters.pathname.startsWith('//');
    go(isOurs ? parameters.pathname + parameters.search : '/', { replace: true });
  }, []);
  return null;
}

/** Announces a new screen by focusing its heading, just as the title announces a loaded page. */
function useFocusOnNewScreen(): void {
  useEffect(() => {
    let last = path.value;
    return path.subscribe((next) => {
      if (next === last) return;
      last = next;
      setTimeout(() => focusHeading(next));
    });
  }, []);
}

/** Maximum time to wait for the heading, because the screen's code may still be loading. */
const HEADING_WITHIN_MS = 10_000;

function focusHeading(of: string, since = performance.now()): void {
  const heading = document.querySelector<HTMLElement>('main h1');
  if (heading !== null) heading.focus({ preventScroll: true });
  else if (path.peek() === of && performance.now() - since < HEADING_WITHIN_MS)
    requestAnimationFrame(() => focusHeading(of, since));
}

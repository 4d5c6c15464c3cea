import type { ComponentChildren } from 'preact';

/** What stands around every screen, and parts that many screens have. */
export const texts = {
  /** What the tab, the history and a screen reader call a screen. */
  titleOf: (screen: string) => `${screen} · GPU rental`,
  skip: 'Skip to the content',
  moment: 'One moment …',
  notLoaded:
    'This part of the page could not be loaded. It is tried again automatically. If the service was upgraded, reload the page.',
  reload: 'Reload the page',
  private: 'This screen shows what is yours.',
  nothingTitle: 'Nothing here',
  nothingHere: 'There is nothing here',
  seeMachines: 'See the machines',

  signedOut: 'Signed out',
  connection: {
    waiting: 'Connecting …',
    live: 'Live',
    restarting: 'The service is restarting. The page goes on by itself; what runs goes on running.',
    limited: 'This account asked more than it may within a minute. The page goes on by itself',
    lost: 'No connection to the service. Figures go on from the last answer; the page connects again by itself.',
  },
  /** After `limited`, seen and not heard. */
  goesOn: (seconds: number) => (seconds === 0 ? ' now.' : ` in ${seconds} s.`),
  clockFast: (by: string) => `The clock of this computer is ${by} fast. Figures follow the service's clock.`,
  clockSlow: (by: string) => `The clock of this computer is ${by} slow. Figures follow the service's clock.`,

  done: 'What was done',
  undo: 'Undo',
  dismiss: (what: string) => `Dismiss: ${what}`,
  control: 'Ctrl',
  close: 'Close',
  copy: 'Copy',
  copied: 'Copied',
  copyYourself: 'Select the text and copy it yourself',
  any: 'any',
  period: (from: ComponentChildren, to: ComponentChildren) => (
    <>
      {from} to {to}
    </>
  ),

  /** Rows of fields; `one`: what a row is called. */
  ofRow: (one: string, place: number) => `of ${one} ${place}`,
  removeRow: (one: string, place: number) => `Remove ${one} ${place}`,
  remove: 'Remove',
  addRow: (one: string) => `Add a ${one}`,
};

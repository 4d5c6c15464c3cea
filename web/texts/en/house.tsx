import type { ComponentChildren } from 'preact';

/** Texts around every screen, and texts shared by many screens. */
export const texts = {
  /** A screen's name in browser tabs, in the history and for screen readers. */
  titleOf: (screen: string, brand: string) => `${screen} · ${brand}`,
  skip: 'Skip to content',
  moment: 'Loading …',
  notLoaded:
    'This part of the page couldn’t be loaded. The page retries automatically. If the service was upgraded, reload the page.',
  reload: 'Reload page',
  private: 'Sign in to see this screen.',
  notFoundTitle: 'Not found',
  notFound: 'Page not found',
  seeMachines: 'See machines',

  signedOut: 'Signed out',
  connection: {
    waiting: 'Connecting …',
    live: 'Live',
    restarting: 'The service is restarting. The page resumes automatically; running instances are unaffected.',
    limited: 'This account exceeded its rate limit. The page resumes automatically',
    lost: 'No connection to the service. Figures are projected from the last response; the page reconnects automatically.',
  },
  /** Follows `limited`. Hidden from screen readers. */
  resumesIn: (seconds: number) => (seconds === 0 ? ' now.' : ` in ${seconds} s.`),
  clockFast: (by: string) => `This computer’s clock is ${by} fast. Figures use the service’s clock.`,
  clockSlow: (by: string) => `This computer’s clock is ${by} slow. Figures use the service’s clock.`,

  messages: 'Messages',
  undo: 'Undo',
  dismiss: (message: string) => `Dismiss: ${message}`,
  control: 'Ctrl',
  close: 'Close',
  cancel: 'Cancel',
  save: 'Save',
  edit: 'Edit',
  editOf: (setting: string) => `Edit: ${setting}`,
  /** Names the menu of a row. */
  actionsOf: (name: string) => `Actions for ${name}`,
  shownOnce: 'It is shown only once. Save it now.',
  haveIt: 'I’ve saved it',
  copy: 'Copy',
  copied: 'Copied',
  copyYourself: 'Select the text and copy it manually',
  any: 'any',
  period: (from: ComponentChildren, to: ComponentChildren) => (
    <>
      {from} to {to}
    </>
  ),

  /** Rows of fields. `one` is the name of a row. */
  ofRow: (one: string, place: number) => `of ${one} ${place}`,
  removeRow: (one: string, place: number) => `Remove ${one} ${place}`,
  remove: 'Remove',
  addRow: (one: string) => `Add ${one}`,
};

import type { ComponentChildren } from 'preact';
import { number } from '../../figures/number.js';
import { plural } from '../plural.js';

/** A name or a time, as displayed. */
type Shown = ComponentChildren;

export const texts = {
  reading: 'Loading your account …',
  firstSteps: 'First steps',
  /** Follows a step's title, for screen readers. */
  done: ', done',
  progress: (done: number, all: number) => `${done} of ${all} done`,
  creditStep: 'Add credit',
  creditWhy: 'Rentals are paid from it by the second. You never owe more than that, except for disks that you keep.',
  addCredit: 'Add credit',
  askForCredit: 'Request credit from the operator',
  askForCreditWhy: (account: Shown) => <>The operator of this service adds it to your account {account}.</>,
  /** `place` is an email address or a host. */
  contactForCredit: (place: Shown, account: Shown) => (
    <>
      Contact {place} with your account id {account}
    </>
  ),
  ask: 'Request credit',
  copyAccount: 'Copy account id',
  keyStep: 'Add your SSH key',
  keyWhy: (tool: Shown) => <>Its private part opens every instance. You create one with {tool}.</>,
  addKey: 'Add SSH key',
  rentStep: 'Deploy your first instance',
  rentWhy: 'Choose a GPU or a template below. The instance runs within seconds.',
  attention: 'Needs attention',
  nothing: 'Nothing needs your attention',
  urgent: 'Urgent: ',
  note: 'Note: ',
  creditOver: 'Your credit has run out: everything is stopped.',
  creditOverUntil: (at: Shown) => (
    <>Your credit has run out: everything is stopped and, without new credit, will be destroyed {at}.</>
  ),
  creditEnds: (at: Shown) => <>Your credit runs out {at}. Running instances then stop.</>,
  limitWasReached: (at: Shown) => <>You reached your monthly limit {at}: running instances were stopped.</>,
  limitIsReached: (at: Shown) => <>You will reach your monthly limit {at}. Running instances then stop.</>,
  volumeLost: (volume: Shown, name: Shown, at: Shown) => (
    <>
      Changes that {name} made to volume {volume} after {at} are lost.
    </>
  ),
  volumeRefused: (volume: Shown, name: Shown, at: Shown) => (
    <>
      {name}’s volume {volume} couldn’t be saved. It was last saved {at}.
    </>
  ),
  volumeUnsaved: (volume: Shown, name: Shown, at: Shown) => (
    <>
      {name}’s volume {volume} hasn’t been saved since {at}.
    </>
  ),
  silent: (name: Shown) => <>{name}’s machine is unreachable. It may come back without your help.</>,
  failed: (name: Shown, why: Shown) => (
    <>
      {name}’s container failed: {why}
    </>
  ),
  failedSilently: 'its machine reports no reason',
  notStarted: (name: Shown, at: Shown, why: Shown) => (
    <>
      {name} couldn’t be started and stopped {at}: {why}
    </>
  ),
  preempted: (name: Shown, at: Shown) => (
    <>
      {name} was preempted {at}: its machine was rented on demand or reserved.
    </>
  ),
  endedBadly: (name: Shown, at: Shown, exitCode: Shown) => (
    <>
      {name}’s command ended {at} with exit code {exitCode}.
    </>
  ),
  stops: (name: Shown, at: Shown) => (
    <>
      {name} stops automatically {at}.
    </>
  ),
  destroyed: (name: Shown, at: Shown) => (
    <>
      {name} will be destroyed automatically {at}. Its disk will be erased.
    </>
  ),
  limit: (name: Shown, at: Shown) => (
    <>
      {name} reaches its spend limit {at} and then stops.
    </>
  ),
  costsStopped: (name: Shown, at: Shown, hourly: string) => (
    <>
      {name} has been stopped since {at}. Its disk costs {hourly} USD/h.
    </>
  ),
  changeLimit: 'Change limit',
  /** `hidden` wraps text for screen readers only. */
  open: (name: string, hidden: (text: string) => ComponentChildren) => <>Open{hidden(` ${name}`)}</>,
  cost: 'Balance and cost',
  rented: 'Your instances',
  allInstances: (count: number) => plural(count, { one: 'Details', other: `All ${number(count)} instances` }),
  volumesCost: (count: number, sizeGb: number, hourly: string) =>
    plural(count, {
      one: `1 volume, ${number(sizeGb)} GB, ${hourly} USD/h`,
      other: `${number(count)} volumes, ${number(sizeGb)} GB, ${hourly} USD/h`,
    }),
};

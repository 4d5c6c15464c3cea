import type { ComponentChildren } from 'preact';
import { number } from '../../figures/number.js';
import { plural } from '../plural.js';

/** A name or a time, as it is shown. */
type Shown = ComponentChildren;

export const texts = {
  title: 'Home',
  rent: 'Rent a machine',
  reading: 'Reading your account …',
  firstSteps: 'First steps',
  done: 'done',
  creditStep: 'Add credit',
  creditWhy: 'Rentals are paid by the second from it. Nothing is owed beyond it but kept disks.',
  addCredit: 'Add credit',
  keyStep: 'Add your SSH key',
  keyWhy: (tool: Shown) => <>With its private part you get into every instance. The key that {tool} makes is fine.</>,
  addKey: 'Add an SSH key',
  rentStep: 'Rent a first machine',
  rentWhy: 'Choose a model and a template. It runs within seconds, and you can stop it at any moment.',
  seeMachines: 'See the machines',
  attention: 'Needs attention',
  nothing: 'Nothing: all is as it should be.',
  looking: 'Looking …',
  urgent: 'Urgent: ',
  note: 'Note: ',
  creditOver: 'Your credit ran out: everything is stopped.',
  creditOverUntil: (at: Shown) => (
    <>Your credit ran out: everything is stopped, and is destroyed {at} without new credit.</>
  ),
  creditEnds: (at: Shown) => <>Your credit runs out {at}. What runs stops then.</>,
  limitWasReached: (at: Shown) => <>The limit of this month was reached {at}: what ran has stopped.</>,
  limitIsReached: (at: Shown) => <>The limit of this month is reached {at}. What runs stops then.</>,
  volumeLost: (volume: Shown, name: Shown, at: Shown) => (
    <>
      What {name} wrote to the volume {volume} after {at} is lost.
    </>
  ),
  volumeRefused: (volume: Shown, name: Shown, at: Shown) => (
    <>
      The volume {volume} of {name} could not be stored. Its last stored state is of {at}.
    </>
  ),
  volumeUnsaved: (volume: Shown, name: Shown, at: Shown) => (
    <>
      The volume {volume} of {name} has not been stored since {at}.
    </>
  ),
  silent: (name: Shown) => <>The machine of {name} is not heard from. It may come back by itself.</>,
  failed: (name: Shown, why: Shown) => (
    <>
      The container of {name} failed: {why}
    </>
  ),
  failedSilently: 'its machine does not say why',
  notStarted: (name: Shown, at: Shown) => (
    <>
      {name} could not be started. It stopped {at}.
    </>
  ),
  preempted: (name: Shown, at: Shown) => (
    <>
      {name} was stopped {at}: its machine was rented on demand or reserved.
    </>
  ),
  endedBadly: (name: Shown, at: Shown, exitCode: Shown) => (
    <>
      The command of {name} ended {at} with exit code {exitCode}.
    </>
  ),
  stops: (name: Shown, at: Shown) => (
    <>
      {name} stops by itself {at}.
    </>
  ),
  destroyed: (name: Shown, at: Shown) => (
    <>
      {name} is destroyed by itself {at}. Its disk is erased then.
    </>
  ),
  limit: (name: Shown, at: Shown) => (
    <>
      {name} reaches its spend limit {at}, and stops.
    </>
  ),
  costsStopped: (name: Shown, at: Shown, hourly: string) => (
    <>
      {name} has been stopped since {at}. Its disk costs {hourly} USD/h.
    </>
  ),
  changeLimit: 'Change the limit',
  /** `unseen` shows what is only heard. */
  open: (name: string, unseen: (words: string) => ComponentChildren) => <>Open{unseen(` ${name}`)}</>,
  rented: 'What you rent',
  allInstances: (count: number) => plural(count, { one: 'Your instance', other: `All ${number(count)} instances` }),
  noneRented: 'Nothing is rented',
  noneRentedWhat: 'What you rent shows here, with its cost to the second.',
  instance: 'Instance',
  state: 'State',
  where: 'Where',
  hourly: 'USD/h now',
  cost: 'Cost so far, USD',
  volumes: 'Volumes',
  volumesCost: (count: number, sizeGb: number, hourly: string) =>
    plural(count, {
      one: `1 volume, ${number(sizeGb)} GB, ${hourly} USD/h`,
      other: `${number(count)} volumes, ${number(sizeGb)} GB, ${hourly} USD/h`,
    }),
  yourVolumes: 'Your volumes',
};

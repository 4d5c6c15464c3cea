import { say } from '../state/toasts.js';
import { texts as house } from '../texts/en/house.js';
import { texts } from '../texts/en/instance-menu.js';
import type { MenuItem } from './menu.js';

/** Returns the menu item that copies an instance's id. */
export const copyIdItem = (id: string): MenuItem => ({
  name: texts.copyId,
  icon: 'copy',
  onChoose: () =>
    void (navigator.clipboard?.writeText(id) ?? Promise.reject()).then(
      () => say(texts.idCopied(id)),
      () => say(house.copyYourself, { isBad: true }),
    ),
});

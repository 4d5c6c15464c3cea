import type { texts as english } from '../en/ssh-keys.js';

export const texts: typeof english = {
  title: 'SSH-Schlüssel',
  hint: 'Wer den privaten Teil hat, kommt in jede Instanz dieses Kontos.',
  publicKey: 'Öffentlicher Schlüssel, die Zeile einer .pub-Datei',
  example: 'ssh-ed25519 AAAA… name',
  add: 'SSH-Schlüssel hinzufügen',
  none: 'Noch kein SSH-Schlüssel',
  noneHint: 'Erzeugen Sie einen mit ssh-keygen und fügen Sie oben den öffentlichen Teil ein.',
  comment: 'Kommentar',
  fingerprint: 'Fingerabdruck',
  added: 'Hinzugefügt',
  noComment: 'ohne Kommentar',
  remove: 'Entfernen',
  removeKey: (key) => `SSH-Schlüssel ${key} entfernen`,
  removed: (key) => `Der SSH-Schlüssel ${key} ist entfernt.`,
  back: 'Der SSH-Schlüssel ist wieder da.',
};

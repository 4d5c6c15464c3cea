import type { texts as english } from '../en/ssh-keys.js';

export const texts: typeof english = {
  title: 'SSH-Schlüssel',
  hint: 'Wer den privaten Teil hat, hat Zugang zu jeder Instanz dieses Kontos.',
  publicKey: 'Öffentlicher Schlüssel (die Zeile einer .pub-Datei)',
  example: 'ssh-ed25519 AAAA… name',
  add: 'SSH-Schlüssel hinzufügen',
  none: 'Noch keine SSH-Schlüssel',
  noneHint: 'Erstellen Sie einen mit ssh-keygen und fügen Sie oben seinen öffentlichen Teil ein.',
  comment: 'Kommentar',
  fingerprint: 'Fingerabdruck',
  added: 'Hinzugefügt',
  noComment: 'ohne Kommentar',
  remove: 'Entfernen',
  removeKey: (key) => `SSH-Schlüssel ${key} entfernen`,
  removed: (key) => `SSH-Schlüssel ${key} entfernt.`,
  restored: 'SSH-Schlüssel wiederhergestellt.',
};

import type { texts as english } from '../en/ssh-keys.js';

export const texts: typeof english = {
  title: 'SSH-Schlüssel',
  hint: 'Wer den privaten Teil hat, hat Zugang zu jeder Instanz dieses Kontos.',
  publicKey: 'Öffentlicher Schlüssel',
  example: 'ssh-ed25519 AAAA… name',
  add: 'Neuer SSH-Schlüssel',
  none: 'Noch keine SSH-Schlüssel',
  noneHint:
    'Erstellen Sie einen mit ssh-keygen und fügen Sie seinen öffentlichen Teil hinzu, die Zeile der .pub-Datei.',
  comment: 'Kommentar',
  fingerprint: 'Fingerabdruck',
  added: 'Hinzugefügt',
  actions: 'Aktionen',
  store: 'Hinzufügen',
  noComment: 'ohne Kommentar',
  remove: 'Entfernen',
  removeKey: (key) => `SSH-Schlüssel ${key} entfernen`,
  removed: (key) => `SSH-Schlüssel ${key} entfernt.`,
  restored: 'SSH-Schlüssel wiederhergestellt.',
};

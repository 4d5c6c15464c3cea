import type { texts as english } from '../en/page.js';

export const texts: typeof english = {
  title: 'GPU-Vermietung',
  noScript: 'Diese Konsole benötigt JavaScript. Alles geht auch über die API oder die Kommandozeile.',
  verifyTitle: 'Kontoauszüge prüfen · GPU-Vermietung',
  verifyNoScript: 'Diese Seite benötigt JavaScript. Dasselbe geht mit `gpu verify`.',
};

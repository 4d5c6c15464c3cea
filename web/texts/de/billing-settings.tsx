import type { texts as english } from '../en/billing-settings.js';

export const texts: typeof english = {
  title: 'Einstellungen',
  limit: 'Monatslimit',
  noLimit: 'keines',
  limitUsed: 'in diesem Monat ausgegeben',
  limitHint:
    'Ist es erreicht, werden alle laufenden Instanzen sofort angehalten. Der Speicherplatz bleibt erhalten und kostet weiter.',
  limitLabel: 'Limit pro UTC-Monat',
  notice: 'Guthabenwarnung',
  noNotice: 'aus',
  noticeAt: (amount) => <>bei {amount}</>,
  noticeHint: (
    <>
      Sie werden per E-Mail und Webhook benachrichtigt, sobald das Guthaben auf diesen Betrag sinkt. Beides richten Sie
      unter <a href="/notifications">Benachrichtigungen</a> ein.
    </>
  ),
  noticeLabel: 'Guthaben (USD)',
  noticeSet: 'Guthabenwarnung festgelegt.',
  noticeRemoved: 'Guthabenwarnung ausgeschaltet.',
  details: 'Rechnungsangaben',
  noDetails: 'keine',
  detailsUse:
    'Diese Angaben stehen auf allen Rechnungen, auch auf denen für vergangene Monate. Leere Felder werden weggelassen.',
  name: 'Name oder Firma',
  address: 'Anschrift',
  reference: 'Ihre Referenz, zum Beispiel eine Bestellnummer',
  stored: 'Rechnungsangaben gespeichert',
};

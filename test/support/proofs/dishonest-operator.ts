import { withoutTriggers } from '../after-change.js';
import type { TestDomain } from '../domain.js';

/**
 * Changes an entry that was already published, as an operator with full access to the database could: edits the rows
 * with all triggers off, chains the account again from there, and builds the log's tree and signs its roots again. The
 * amount stays consistent with its interval, because the rate is changed with it.
 */
export async function rewriteHistory(domain: TestDomain, instance: string): Promise<void> {
  await withoutTriggers(domain, async (transaction) => {
    await transaction.query('update usage_interval set rate = rate * 2 where instance_id = $1', [instance]);
    await transaction.query(
      `update ledger_entry set units = units * 2 where instance_id = $1 and kind in ('GPU_USAGE', 'DISK_USAGE')`,
      [instance],
    );
    await transaction.query(
      `update account set spend_units = spend_units - (
         select sum(units) / 2 from ledger_entry where instance_id = $1 and kind in ('GPU_USAGE', 'DISK_USAGE')
       ) where id = (select account_id from instance where id = $1)`,
      [instance],
    );
    await transaction.query(
      `do $chain$ declare
         link record;
         previous bytea;
       begin
         for link in
           select l.account_id, l.number, entry, c.pseudonym from chain_link l
           join ledger_entry entry on entry.id = l.entry_id join account_chain c on c.account_id = l.account_id
           where l.account_id = (select account_id from instance where id = '${instance}') order by l.number
         loop
           if link.number = 1 then previous := chain_start(link.account_id, link.pseudonym); end if;
           previous := chain_hash(link.number, previous, link.entry);
           update chain_link set hash = previous where account_id = link.account_id and number = link.number;
           update account_chain set head = previous where account_id = link.account_id;
         end loop;
       end $chain$`,
    );
    await transaction.query('delete from log_root');
    await transaction.query('delete from log_leaf');
    await transaction.query('delete from log_tile');
  });
}

/**
 * The audit's checks of the hash chains (docs/proofs.md). An account whose history isn't completely chained yet is
 * checked only as far as its links go.
 */
export const CHAIN_CHECKS: readonly (readonly [name: string, sql: string])[] = [
  [
    'every entry has one link in the chain of its account',
    `select coalesce(entry.account_id, link.account_id) as account_id, coalesce(entry.id, link.entry_id) as subject,
       case when link.entry_id is null then 'has no link' when entry.id is null then 'link ' || link.number || ' has no entry'
         else 'link ' || link.number || ' belongs to account ' || link.account_id end as detail
     from ledger_entry entry full join chain_link link on link.entry_id = entry.id
       left join account_chain chain on chain.account_id = entry.account_id
     where entry.id is null or link.account_id <> entry.account_id or (link.entry_id is null and chain.complete)`,
  ],
  [
    'links are numbered up to the length and hash of their chain',
    `select coalesce(chain.account_id, links.account_id) as account_id, '' as subject,
       coalesce(count, 0) || ' links from ' || coalesce(first, 0) || ' to ' || coalesce(last, 0) || ', length '
         || coalesce(length::text, 'missing') || case when head = newest then '' else ', another hash at the end' end as detail
     from account_chain chain full join (
       select account_id, count(*), min(number) as first, max(number) as last from chain_link group by account_id
     ) links on links.account_id = chain.account_id
     cross join lateral (select case when links.account_id is null then chain_start(chain.account_id, pseudonym) else (
       select hash from chain_link where account_id = links.account_id and number = last) end as newest) as ending
     where chain.account_id is null or coalesce(count, 0) <> length or coalesce(first, 1) <> 1 or coalesce(last, 0) <> length
       or head <> newest`,
  ],
  [
    'every link covers its entry and the previous link',
    `select distinct on (chain.account_id) chain.account_id, entry_id as subject,
       'link ' || number || ' has another hash than follows from its entry and the previous link' as detail
     from (select chain_link.*, lag(hash) over (partition by account_id order by number) as previous from chain_link) link
       join account_chain chain on chain.account_id = link.account_id join ledger_entry entry on entry.id = entry_id
     where hash <> chain_hash(number, coalesce(previous, chain_start(chain.account_id, pseudonym)), entry)
     order by chain.account_id, number`,
  ],
];

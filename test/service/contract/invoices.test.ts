import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withoutTimers } from '../../support/background.js';
import { type Service, startService } from '../../support/service.js';

const DETAILS = '{ name address reference }';
const SET = `mutation ($name: String, $address: String, $reference: String) {
  setBillingDetails(name: $name, address: $address, reference: $reference) ${DETAILS} }`;
const INVOICE = 'query ($month: String!) { invoice(month: $month) { number statementHash html } }';

withoutTimers();
let service: Service;
beforeAll(async () => {
  service = await startService({ secretsKeys: ['5e'.repeat(32)] });
});
afterAll(() => service.close());

const thisMonth = () => new Date(service.clock.nowMs()).toISOString().slice(0, 7);

describe('an invoice', () => {
  it("states the month's charges, payments and balances, and is the same page on both surfaces", async () => {
    const renter = await service.renter('100');
    const { body: instance } = await renter.rest('POST', '/instances', { machine_id: await service.machine() });
    service.clock.advance(3_600);
    await renter.rest('POST', `/instances/${instance.id}/destroy`);
    service.clock.advance(10);
    const { body } = await renter.graphql(INVOICE, { month: thisMonth() });
    expect(body.errors).toBeUndefined();
    const { html, statementHash, number } = body.data.invoice;
    expect(number).toMatch(new RegExp(`-${thisMonth()}$`));
    expect(html).toContain(`${instance.id} (1 × `);
    expect(html).toContain(statementHash);
    expect(html).toContain('<svg');
    expect(html).toMatch(/Payment[\s\S]*100\.00/);
    const { balance } = (await renter.rest('GET', '/balance')).body;
    expect(html).toMatch(new RegExp(`Balance after</td><td class="number">${String(balance).replace('.', '\\.')}`));
    const rest = await renter.rest('GET', `/statements/${thisMonth()}/invoice`);
    expect(rest.headers.get('content-type')).toBe('text/html; charset=utf-8');
  });

  it('shows the details that the account set, escaped', async () => {
    const renter = await service.renter('10');
    const details = { name: '<script>alert(1)</script> & Co', address: 'Main St 1\n12345 "Town"', reference: "PO'7" };
    expect((await renter.graphql(SET, details)).body.data.setBillingDetails).toEqual(details);
    const { body } = await renter.graphql(INVOICE, { month: thisMonth() });
    const { html } = body.data.invoice;
    expect(html).not.toContain('<script');
    expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt; &amp; Co');
    expect(html).toContain('<p>12345 &quot;Town&quot;</p>');
    expect(html).toContain('PO&#39;7');
    expect((await renter.graphql(SET, { name: 'New' })).body.data.setBillingDetails).toEqual({
      name: 'New',
      address: '',
      reference: '',
    });
  });

  it.each([
    ['name', 'x'.repeat(201)],
    ['address', 'x\n'.repeat(10)],
    ['address', 'x\u0007'],
    ['reference', 'x'.repeat(101)],
  ])('is not changed by an invalid %s', async (field, value) => {
    const renter = await service.renter('10');
    const { body } = await renter.graphql(SET, { [field]: value });
    expect(body.errors[0].extensions).toMatchObject({ code: 'invalid_request', field });
    expect((await renter.graphql(`{ billingDetails ${DETAILS} }`)).body.data.billingDetails.name).toBe('');
  });
});

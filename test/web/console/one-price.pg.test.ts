import { parse } from 'csv-parse/sync'
import { expect, test } from 'vitest'
import { vinOf } from '../../stock/import-fixture.ts'
import { openUploads } from './upload-fixture.ts'

/** What price-batch answered for a car, and what the list has of it now. Left out: as usual. */
interface Case {
  readonly name: string
  readonly vin?: string
  readonly pricedVin?: string | null
  readonly currency?: string
  readonly retail?: number | null
  readonly wholesale?: number
  readonly error?: string
  /** The price that page, export and mart have, or why there is none. */
  readonly has: number | RegExp
}

const cases: readonly Case[] = [
  { name: 'priced', has: 25_000 },
  { name: 'priced by its ADCode, before it had a VIN', pricedVin: null, has: 25_000 },
  { name: 'priced by a VIN that the list no longer has', vin: '', has: 25_000 },
  {
    name: 'priced by the same VIN in small letters',
    pricedVin: vinOf(4).toLowerCase(),
    has: 25_000,
  },
  { name: 'priced as another vehicle', pricedVin: vinOf(90), has: /not priced yet/ },
  { name: 'now listed in another currency', currency: 'EUR', has: /price is in [A-Z]+, .* EUR/ },
  { name: 'not priced, with an error', retail: null, error: 'no data', has: /no data/ },
  {
    name: 'not priced, in another currency',
    currency: 'EUR',
    retail: null,
    error: 'no data',
    has: /no data/,
  },
  { name: 'answered without a price', retail: null, has: /no price for it/ },
]

test('page, export and mart have one price of a car, or one reason for none, at every rooftop', async () => {
  await using console = await openUploads()
  const list = ['Stock Number,VIN,ADCode,Make,Model,Year,Odometer (km),Price,Currency']
  for (const [at, { vin = vinOf(at + 1), currency = '' }] of cases.entries())
    list.push(`S${at},${vin},12345678901234,Toyota,Corolla,2019,45000,20000,${currency}`)
  const { rooftops } = console.config
  const chosen = [rooftops[0]!, ...rooftops.filter(({ region }) => region !== rooftops[0]!.region)]
  for (const { uid } of chosen.slice(0, 2)) {
    await console.import(`${list.join('\r\n')}\r\n`, { role: 'engineer', rooftop: uid })
    for (const [at, one] of cases.entries())
      await console.rows(
        `insert into core.stock_price_observation (rooftop_id, stock_no, price_source, observed_at, last_confirmed_at, is_current, vin,
           retail, wholesale, currency_code, error, value_hash, run_id)
         select rooftop_id, $2, 'price_batch', now(), now(), true, $3, $4, $5, currency_code, $6, '', 1
         from core.rooftop where rooftop_uid = $1`,
        [
          ...[uid, `S${at}`, one.pricedVin === undefined ? vinOf(at + 1) : one.pricedVin],
          ...[
            one.retail === undefined ? 25_000 : one.retail,
            one.wholesale ?? null,
            one.error ?? null,
          ],
        ],
      )

    const page = await console.json<{ units: Unit[] }>(`/stock?rooftop=${uid}`)
    const { text } = await console.get(`/stock?rooftop=${uid}&download=csv`)
    const exported = parse<Record<string, string>>(text, { columns: true, bom: true })
    const mart = await console.rows<{ no: string; retail: number | null; reason: string | null }>(
      `select stock_no as no, market_retail::float8 as retail, not_priced_reason as reason
       from mart.fact_stock_unit join core.rooftop using (rooftop_id) where rooftop_uid = $1`,
      [uid],
    )

    for (const [at, { name, has }] of cases.entries()) {
      const no = `S${at}`
      const unit = page.units.find(({ stockNo }) => stockNo === no)!
      const row = exported.find((record) => record['stock_number'] === no)!
      const fact = mart.find((one) => one.no === no)!
      const found = {
        page: unit.market ?? unit.whyNoMarket,
        export: row['price_retail'] === '' ? row['message'] : Number(row['price_retail']),
        mart: fact.retail ?? fact.reason,
      }
      const wanted = typeof has === 'number' ? has : expect.stringMatching(has)
      expect(found, name).toEqual({ page: wanted, export: wanted, mart: wanted })
      expect(new Set(Object.values(found)).size, name).toBe(1)
    }
  }
})

interface Unit {
  readonly stockNo: string
  readonly market: number | null
  readonly whyNoMarket: string | null
}

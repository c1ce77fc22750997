import { afterAll, beforeAll, expect, test } from 'vitest'
import { pages } from '#src/console/pages.ts'
import { pathOf, uploadForm } from '../console/upload-fixture.ts'
import { aVehicle, listOf, vehicles } from '../stock/import-fixture.ts'
import { type Browsing, browse, crawl } from './browser.ts'
import { axe, inspect } from './inspect.ts'

let browsing: Browsing
let found: Map<string, string[]>

beforeAll(async () => {
  browsing = await browse()
  await plant(browsing)
  found = await crawl(browsing.console)
})
afterAll(async () => await browsing[Symbol.asyncDispose]())

/** A record that does not fit, a car in stock, and stock lists at every step, since the world of the console has none. */
async function plant({ console: { config, rows, post } }: Browsing): Promise<void> {
  await rows(
    `insert into ops.quarantine (stream, rooftop_id, natural_key, issues, payload, run_id)
     select 'evaluations', rooftop_id, '1', '[{"path":"UpdatedAt","message":"is not a time"}]', '[{"EvalID":1,"UpdatedAt":"never"}]', 1
     from core.rooftop order by rooftop_id limit 1`,
  )
  await rows(
    `insert into core.stock_unit (rooftop_id, stock_no, make, model, currency_code, price_on_application, extras, content_hash,
       first_seen_at, last_seen_at, import_id)
     select rooftop_id, 'A-17', 'Saab', '9-3', 'AUD', false, '{}', '', now(), now(), 1 from core.rooftop order by rooftop_id limit 1`,
  )
  const upload = async (list: string, name: string) => {
    const fields = { rooftop: config.rooftops.at(-1)!.uid, mode: 'snapshot' }
    return pathOf(await post('/stock/upload', uploadForm(list, name, fields)))
  }
  const wrong = [...vehicles(8), aVehicle(9, { price: '1x2' }), aVehicle(10, { km: '1 2 x' })]
  await post(await upload(listOf(wrong), 'imported.csv'), { action: 'import' })
  const next = [
    ...vehicles(2),
    aVehicle(3, { price: '9' }),
    aVehicle(9, { price: '1x2' }),
    aVehicle(30),
  ]
  await upload(listOf(next), 'ready.csv')
  await upload(listOf(vehicles(3)).replace('Price', 'Amount'), 'in-doubt.csv')
}

test('every page is reached by links from the first page', () => {
  // The search is a form, and answers a link of its own with a redirect.
  const unreached = pages.filter(({ path }) => !found.has(path) && path !== '/search')

  expect(unreached.map(({ path }) => path)).toEqual([])
})

test('every page is right: wide and narrow, light and dark, zoomed, in the colours of the system', async () => {
  const findings: string[] = []
  for (const [address = '/'] of [...found.values(), ['/search'], ['/search?q=10']]) {
    const page = await browsing.open(address)
    findings.push(...(await inspect(page)))
    await page.close()
  }

  expect(findings).toEqual([])
})

test('planted faults are found', async () => {
  const page = await browsing.open('/')
  await page.evaluate(`document.querySelector('main').append(document.createElement('button'))`)
  expect(await axe(page)).toEqual(['button-name at <button></button>'])
  await page.reload()
  await page.evaluate(`document.querySelector('main').style.minWidth = '700px'`)
  await page.evaluate(`document.querySelector('h2').style.color = 'light-dark(black, #222)'`)

  expect(await inspect(page)).toEqual([
    expect.stringContaining('/console/, 1280 dark: color-contrast at <h2'),
    '/console/, 640: it is 700 pixels wide',
    '/console/, 320: it is 700 pixels wide',
    expect.stringContaining('/console/, 320 dark: color-contrast at <h2'),
    '/console/, forced colours: it is 700 pixels wide',
  ])
  await page.close()
})

test('no page reports an error to the developer', () => {
  expect(browsing.complaints).toEqual([])
})

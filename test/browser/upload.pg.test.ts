import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { aVehicle, listOf, vehicles } from '../stock/import-fixture.ts'
import { openUploads, type UploadFixture } from '../web/console/upload-fixture.ts'
import { type Browsing, browse } from './browser.ts'

// The twelve real files. They must not be published, so they are outside the repository.
const folder = fileURLToPath(new URL('../../../shared/data/stock-csv/', import.meta.url))
const isHere = existsSync(folder)
if (!isHere) console.warn('skipped: the real files of ../shared/data/stock-csv are not here')

/** A file without a key uses a column that has one text for each row, or nearly: its position, from 0. */
const files = [
  ['au_gumtree_cars_info.csv', 0],
  ['br_volvo_tab_decimalcomma.csv', 0],
  ['ksa_syarah_semicolon.csv', 0],
  ['uae_auction_lots_from_xlsx.csv', null],
  ['uae_used_cars.csv', 0],
  ['us_auction_lot_paddedvin.csv', null],
  ['us_carscom_stockhash.csv', null],
  ['us_dealer_NULLs.csv', null],
  ['us_homenet_dealer_longtext.csv', null],
  ['us_pipe_preamble_noheader.csv', 0],
  ['us_quirk_badvins.csv', null],
  ['za_autotrader_sepline.csv', null],
] as const

let fixture: UploadFixture
let browsing: Browsing
let page: Page

beforeAll(async () => {
  fixture = await openUploads()
  // So that the person sees a rooftop.
  await fixture.import(listOf(vehicles(1)))
  browsing = await browse(fixture)
})
afterAll(async () => await browsing?.[Symbol.asyncDispose]())
beforeEach(async () => {
  await fixture.rows(
    'truncate core.stock_import, core.stock_import_row, core.stock_unit, core.stock_unit_change, ops.stock_upload, ops.stock_mapping',
  )
  page = await browsing.open('/stock/upload', { role: 'stock' })
})
afterEach(async () => await page?.close())

/** How a person uses a page. */
interface Hand {
  chooseFile(path: string): Promise<void>
  select(name: string, label: string): Promise<void>
  fill(name: string, text: string): Promise<void>
  /** Presses a button, and waits for the page that it leads to. */
  press(label: RegExp): Promise<void>
}

const leads = async (act: () => Promise<void>) => {
  await Promise.all([page.waitForEvent('load', { timeout: 120_000 }), act()])
}

const mouse: Hand = {
  chooseFile: async (path) => await page.setInputFiles('input[type=file]', path),
  select: async (name, label) => void (await page.selectOption(`[name="${name}"]`, { label })),
  fill: async (name, text) => await page.fill(`[name="${name}"]`, text),
  press: async (label) =>
    await leads(async () => await page.getByRole('button', { name: label }).first().click()),
}

/** Presses Tab until the focus is where a condition on `here` holds. */
async function tabTo(condition: string): Promise<void> {
  for (let stops = 0; stops < 400; stops++) {
    await page.keyboard.press('Tab')
    if (await page.evaluate(`(here => ${condition})(document.activeElement)`)) return
  }
  throw new Error(`Tab does not reach what is ${condition}`)
}

const keyboard: Hand = {
  chooseFile: async (path) => {
    // Asked for first: a chooser that opens before Playwright intercepts it is never seen.
    const opened = page.waitForEvent('filechooser')
    await tabTo(`here.type === 'file'`)
    await page.keyboard.press('Enter')
    await (await opened).setFiles(path)
  },
  select: async (name, label) => {
    await tabTo(`here.name === '${name}'`)
    // Arrows, as a blank within a typed name opens the list, which then has the keyboard.
    await page.keyboard.press('Home')
    const chosen = () => page.evaluate<string>('document.activeElement.selectedOptions[0].label')
    for (let at = 0; (await chosen()) !== label; at++) {
      if (at > 100) throw new Error(`the arrow keys do not reach ${label}`)
      await page.keyboard.press('ArrowDown')
    }
  },
  fill: async (name, text) => {
    await tabTo(`here.name === '${name}'`)
    await page.keyboard.press('Control+A')
    await page.keyboard.type(text)
  },
  press: async (label) => {
    await tabTo(`here.tagName === 'BUTTON' && ${label}.test(here.textContent)`)
    await leads(async () => await page.keyboard.press('Enter'))
  },
}

const hands = { mouse, keyboard }

/** Uploads a file and answers what is asked, until it is imported. */
async function importFile(hand: Hand, path: string, key: number | null): Promise<void> {
  await hand.chooseFile(path)
  await hand.press(/^Upload and check/)
  if (page.url().endsWith('/mapping')) {
    if (key !== null) await hand.select(`column-${key}`, 'stock number')
    await hand.press(/^Use these columns/)
  }
  expect(page.url(), await page.innerText('main')).toMatch(/\/check$/)
  for (const field of await page.locator('input[name^=typed-]').all()) {
    const label = await field.evaluate((one) => one.parentElement!.textContent ?? '')
    await hand.fill((await field.getAttribute('name'))!, /type (\d+)/.exec(label)![1]!)
  }
  await hand.press(/^Import: /)
  expect(page.url()).toMatch(/\/stock\/imports\/\d+$/)
}

async function download(label: string): Promise<string> {
  const [file] = await Promise.all([
    page.waitForEvent('download', { timeout: 120_000 }),
    page.getByRole('link', { name: label }).click(),
  ])
  return await readFile((await file.path())!, 'utf8')
}

const ways = (['mouse', 'keyboard'] as const).flatMap((by) =>
  files.map(([name, key]) => ({ name, key, by })),
)

test.skipIf(!isHere).for(ways)(
  '$name is uploaded by $by and comes back with prices',
  async ({ name, key, by }) => {
    await importFile(hands[by], folder + name, key)

    const [stored] = await fixture.rows<{ records: number; accepted: number }>(
      'select records, accepted from core.stock_import order by import_id desc limit 1',
    )
    expect(stored!.accepted).toBeGreaterThan(0)
    const text = await download('CSV')
    expect(text.split('\n').length).toBeGreaterThan(stored!.records)
  },
)

test.for(['mouse', 'keyboard'] as const)('two rows are corrected by %s', async (by) => {
  const wrong = [...vehicles(8), aVehicle(9, { price: '1x2' }), aVehicle(10, { price: '3y4' })]
  await fixture.import(listOf(wrong))
  await page.goto(`${fixture.url}/console/stock/imports`)
  await leads(async () => await page.getByRole('link', { name: 'list.csv' }).click())

  await hands[by].fill('cell-10-6', '20009')
  await hands[by].fill('cell-11-6', '20010')
  await hands[by].press(/^Import the corrected rows/)

  expect(await page.innerText('main')).toContain('New\n2')
  expect(await fixture.rows('select count(*)::int as n from core.stock_unit')).toEqual([{ n: 10 }])
})

test('without script a list is uploaded and imported too', async () => {
  const plain = await browsing.open('/stock/upload', { role: 'stock', script: false })
  await page.close()
  page = plain

  await page.setInputFiles('input[type=file]', {
    ...{ name: 'list.csv', mimeType: 'text/csv', buffer: Buffer.from(listOf(vehicles(3))) },
  })
  await mouse.press(/^Upload and check/)
  await mouse.press(/^Import: 3 new/)

  expect(page.url()).toMatch(/imports/)
})

test('a list that is refused says why in the same page', async () => {
  const refused = { name: 'cars.json', mimeType: 'text/plain', buffer: Buffer.from('[{"a":1}]') }
  await page.setInputFiles('input[type=file]', refused)
  await page.getByRole('button', { name: /^Upload/ }).click()

  await page.getByText('Export the stock list as CSV').waitFor()
})

test('a list whose connection was cut is sent again with the same button', async () => {
  await page.setInputFiles('input[type=file]', {
    ...{ name: 'list.csv', mimeType: 'text/csv', buffer: Buffer.from(listOf(vehicles(3))) },
  })
  await page.route('**/stock/upload', async (route) => await route.abort())
  await page.getByRole('button', { name: /^Upload/ }).click()
  await page.getByText('The connection was cut, nothing was changed: send it again.').waitFor()
  const stored = await fixture.rows('select from ops.stock_upload')
  await page.unroute('**/stock/upload')

  await mouse.press(/^Upload and check/)

  expect(stored).toEqual([])
  expect(page.url()).toMatch(/\/check$/)
})

test('over a slow connection the page shows how much has arrived, and goes on to the check', async () => {
  const client = await page.context().newCDPSession(page)
  const perSecond = 60_000
  await client.send('Network.enable')
  await client.send('Network.emulateNetworkConditions', {
    ...{ offline: false, latency: 300, downloadThroughput: perSecond, uploadThroughput: perSecond },
  })
  const list = Buffer.from(listOf(vehicles(4_000)))
  await page.setInputFiles('input[type=file]', {
    ...{ name: 'list.csv', mimeType: 'text/csv', buffer: list },
  })

  const arrived = leads(async () => await page.getByRole('button', { name: /^Upload/ }).click())
  // Not by waitForFunction, which the CSP of the page forbids.
  const share = `(bar => bar.hidden ? 0 : bar.value / bar.max)(document.querySelector('progress'))`
  let half = 0
  while (half < 0.2) half = await page.evaluate<number>(share)
  await arrived

  expect(half).toBeLessThan(0.8)
  expect(page.url()).toMatch(/\/check$/)
  expect(list.length).toBeGreaterThan(3 * perSecond)
}, 180_000)

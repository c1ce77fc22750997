import { expect, test } from 'vitest'
import type { ListRefused } from '#src/stock/refusal.ts'
import { someOf } from '../support/cases.ts'
import { type ImportFixture, listOf, openImportFixture, vehicles } from './import-fixture.ts'
import { escapeXml, textRows, workbook } from './workbook/make-workbook.ts'

const lines = listOf(vehicles(24)).trimEnd().split('\r\n')
const listed = (rows: readonly string[]) => [...rows, ''].join('\r\n')

/** The list with one more column; every third vehicle has the first value. */
function listWith(header: string, sold: string, other: string): string {
  const cells = lines.map(
    (line, at) => `${line},${at === 0 ? header : at % 3 === 1 ? sold : other}`,
  )
  return listed(cells)
}

const titles = [
  ...['SOLD', 'Sold vehicles', 'SOLD UNITS - OCTOBER', 'VERKAUFT', 'Verkaufte Fahrzeuge', 'VENDUS'],
  ...['Véhicules vendus', 'VENDIDOS', 'Vehículos vendidos', 'مباع', 'السيارات المباعة'],
]

test('vehicles below a title such as SOLD are not stock, up to the next title', async () => {
  await using fixture = await openImportFixture()
  for (const title of someOf(titles, 3)) {
    const rows = [...lines.slice(0, 9), `${title},,,,,,,`, lines[0]!, ...lines.slice(9, 17)]
    const back = ['In stock,,,,,,,', ...lines.slice(17)]

    const last = await fixture.import(listed(rows), { dryRun: true })
    const middle = await fixture.import(listed([...rows, ...back]), { dryRun: true })

    expect(last, title).toMatchObject({
      accepted: 8,
      rejected: 0,
      issueCounts: { 'not-in-stock': 8 },
    })
    expect(middle, title).toMatchObject({ accepted: 16, issueCounts: { 'not-in-stock': 8 } })
    expect(last.issues.find(({ code }) => code === 'not-in-stock')).toMatchObject({
      hint: `it is below the title "${title}"`,
      advice: '--map sold= ignores that title',
    })
  }
})

test('a title of vehicles on hand, or that only has such a word, ends nothing and begins nothing', async () => {
  await using fixture = await openImportFixture()
  for (const title of [
    'Unsold',
    'Sold by: John',
    'Nicht verkauft',
    'Not sold',
    'Available',
    'غير مباع',
  ]) {
    const rows = [...lines.slice(0, 9), `${title},,,,,,,`, ...lines.slice(9)]

    const report = await fixture.import(listed(rows), { dryRun: true })

    expect(report, title).toMatchObject({ accepted: 24, skipped: 1 })
  }
})

test('a whole list below such a title, and the rows of one rooftop, are sold too', async () => {
  await using fixture = await openImportFixture()
  const isRefused = fixture.import(listed(['SOLD IN OCTOBER,,,,,,,', ...lines]), { dryRun: true })
  await expect(isRefused).rejects.toThrow('has no vehicle')
  const rows = lines.map(
    (line, at) => `${line},${at === 0 ? 'Branch' : at % 2 === 0 ? 'East' : 'West'}`,
  )
  const two = listed([...rows.slice(0, 17), 'SOLD,,,,,,,,', ...rows.slice(17)])

  const report = await fixture.import(two, {
    dryRun: true,
    only: { column: 'Branch', values: ['East'] },
  })

  expect(report).toMatchObject({ accepted: 8, issueCounts: { 'not-in-stock': 4 } })
  const maps = ['sold=', 'location=Branch']
  expect((await fixture.import(two, { dryRun: true, maps })).accepted).toBe(24)
})

const decided = [
  ...[
    ['Status', 'Sold', 'Available'],
    ['الحالة', 'مباع', 'متاح'],
    ['الحالة', 'مباعة', 'متوفرة'],
  ],
  ...[
    ['Sale Status', 'SOLD', 'For sale'],
    ['Verkaufsstatus', 'Verkauft', 'Verfügbar'],
  ],
] as const

test('a column of statuses marks the sold vehicles, in each language', { tags: 'ci' }, async () => {
  await using fixture = await openImportFixture()
  for (const [header, sold, other] of decided) {
    const report = await fixture.import(listWith(header, sold, other), { dryRun: true })

    expect(report, header).toMatchObject({
      accepted: 16,
      rejected: 0,
      issueCounts: { 'not-in-stock': 8 },
    })
  }
})

const asked = [
  ...[
    ['Sold', 'Yes', 'No'],
    ['Sold?', 'Y', ''],
    ['Sold', 'x', ''],
    ['Sold', 'TRUE', 'FALSE'],
    ['Sold', '1', '0'],
  ],
  ...[
    ['Sold Date', '05/11/2026', ''],
    ['Date Sold', '5-Nov-2026', ''],
    ['Sold To', 'A. Buyer', ''],
  ],
  ...[
    ['Verkauft', 'Ja', 'Nein'],
    ['Verkauft am', '05.11.2026', ''],
    ['Vendu', 'Oui', 'Non'],
  ],
  ...[
    ['Date de vente', '05/11/2026', ''],
    ['Vendido', 'Sí', 'No'],
    ['Fecha de venta', '05/11/2026', ''],
  ],
  ...[
    ['مباع', 'نعم', 'لا'],
    ['تاريخ البيع', '05/11/2026', ''],
    ['Available', 'No', 'Yes'],
  ],
  ...[
    ['Verfügbar', 'Nein', 'Ja'],
    ['Disponible', 'No', 'Sí'],
    ['In stock', 'N', 'Y'],
    ['متاح', 'لا', 'نعم'],
  ],
  ...[
    ['Notes', 'SOLD to A. Buyer', 'one owner'],
    ['Remarks', 'Verkauft', ''],
    ['Extra', 'sold', 'ok'],
  ],
] as const

async function refusalOf(fixture: ImportFixture, content: string): Promise<ListRefused> {
  return await fixture.import(content, { dryRun: true }).then(
    () => expect.fail('The list was not asked about.'),
    (error: ListRefused) => error,
  )
}

test('a column by which vehicles appear to be sold is asked about, and the answer is remembered', async () => {
  await using fixture = await openImportFixture()
  for (const [header, sold, other] of someOf(asked, 3)) {
    const list = listWith(header, sold, other)
    const { check, message } = await refusalOf(fixture, list)
    const { questions } = check.mapping!
    const [map] = questions.flatMap(({ maps }) => maps)

    const accepted = await fixture.import(list, { dryRun: true, maps: [map!] })
    const field = map!.slice(0, map!.indexOf('='))
    const declined = await fixture.import(list, { dryRun: true, maps: [`${field}=`] })

    expect(message, header).toContain(
      `8 of 24 vehicles appear to be sold, by the column "${header}"`,
    )
    expect(accepted, header).toMatchObject({ accepted: 16, issueCounts: { 'not-in-stock': 8 } })
    expect(declined, header).toMatchObject({ accepted: 24, skipped: 0 })
  }
  await fixture.import(listWith('Sold', 'Yes', 'No'), { maps: ['sold=Sold'] })
  const next = await fixture.import(listWith('Sold', 'y', 'n'), { dryRun: true })
  expect(next).toMatchObject({ accepted: 16, removed: 0 })
})

const ofStock = [
  ...[
    ['Sold', '', ''],
    ['Sold', 'No', 'No'],
    ['Sold Date', '', '00/00/0000'],
    ['Available', 'Yes', 'Yes'],
  ],
  ...[
    ['Notes', 'Sold with a warranty', 'one owner'],
    ['Notes', 'not sold', 'unsold stock'],
  ],
  ...[
    ['الحالة', 'مستعمل', 'مستعمل'],
    ['In stock', 'Yes', ''],
  ],
] as const

test('a list in which no vehicle is sold is not asked about', { tags: 'ci' }, async () => {
  await using fixture = await openImportFixture()
  for (const [header, one, other] of ofStock) {
    const report = await fixture.import(listWith(header, one, other), { dryRun: true })

    expect(report, `${header}: ${one}`).toMatchObject({ accepted: 24, skipped: 0 })
  }
})

test('a price that reads SOLD marks a sold vehicle', async () => {
  await using fixture = await openImportFixture()
  const rows = lines.map((line, at) =>
    at % 3 === 1 ? line.replace(/,\d+(,[^,]*)$/, ',SOLD$1') : line,
  )

  expect(await fixture.import(listed(rows), { dryRun: true })).toMatchObject({
    ...{ accepted: 16, issueCounts: { 'not-in-stock': 8 } },
  })
})

test('in a workbook the block of sold vehicles is found as in a text', async () => {
  await using fixture = await openImportFixture()
  const rows = [...lines.slice(0, 17), '', 'SOLD', ...lines.slice(17)].map((line) =>
    line.split(','),
  )

  const book = workbook({ sheets: [{ name: 'Stock', rows: textRows(rows) }] })

  expect(await fixture.import(book, { dryRun: true })).toMatchObject({
    ...{ accepted: 16, issueCounts: { 'not-in-stock': 8 } },
  })
})

const traces = [
  ...[
    ['Deal No', 'D-1001'],
    ['Customer', 'J. Smith'],
    ['Buyer name', 'Smith'],
    ['Deposit', '500'],
    ['Invoice Date', '2026-03-05'],
    ['Delivery date', '5 Mar 2026'],
    ['Kunde', 'Schmidt'],
    ['Cliente', 'García'],
  ],
] as const

test('a column that only some vehicles have, as a customer or the number of a deal, is asked about', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture()
  for (const [header, value] of traces) {
    const list = listWith(header, value, '')
    const { check, message } = await refusalOf(fixture, list)
    const { questions } = check.mapping!

    const accepted = await fixture.import(list, { dryRun: true, maps: [`sold=${header}`] })
    const declined = await fixture.import(list, { dryRun: true, maps: ['sold='] })

    expect(
      questions.map(({ maps }) => maps),
      header,
    ).toEqual([[`sold=${header}`]])
    expect(message).toContain(`8 of 24 vehicles have something in the column "${header}"`)
    expect(accepted, header).toMatchObject({ accepted: 16, issueCounts: { 'not-in-stock': 8 } })
    expect(declined, header).toMatchObject({ accepted: 24, skipped: 0 })
  }
})

test('such a column is not asked about where most vehicles have it, a status decides, or it is another one', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture()
  const withStatus = listWith('Status', 'In stock', 'In stock').trimEnd().split('\r\n')
  const lists = [
    listWith('Deposit', '', '500'),
    listWith('Deposit', '0', ''),
    listWith('Customer Rating', '5', ''),
    listWith('Invoice Price', '15000', ''),
    listed(
      withStatus.map((line, at) => `${line},${at === 0 ? 'Customer' : at === 1 ? 'Smith' : ''}`),
    ),
  ]
  for (const list of lists)
    expect(await fixture.import(list, { dryRun: true })).toMatchObject({ accepted: 24, skipped: 0 })
})

test('rows of a workbook that are struck through are not stock', { tags: 'ci' }, async () => {
  await using fixture = await openImportFixture()
  const cell = (text: string, style: number) =>
    `<c t="inlineStr" s="${style}"><is><t>${escapeXml(text)}</t></is></c>`
  // Every third row; of two others, a single cell.
  const rows = lines.map((line, at) => {
    const cells = line.split(',')
    const isStruck = (column: number) =>
      at > 0 && (at % 3 === 0 || (at === 1 && column === 6) || (at === 2 && column === 0))
    return `<row>${cells.map((text, column) => cell(text, isStruck(column) ? 1 : 0)).join('')}</row>`
  })
  const book = workbook({ sheets: [{ name: 'Stock', rows: rows.join('') }], hasStrike: true })

  const report = await fixture.import(book, { dryRun: true })
  const all = await fixture.import(book, { dryRun: true, maps: ['sold='] })

  expect(report).toMatchObject({ accepted: 16, rejected: 0, issueCounts: { 'not-in-stock': 8 } })
  expect(report.issues.find(({ code }) => code === 'not-in-stock')).toMatchObject({
    hint: 'its cells are struck through, as those of sold vehicles are',
    advice: '--map sold= ignores that',
  })
  expect(report.issues.find(({ code }) => code === 'PARTLY_STRUCK')).toMatchObject({ line: 3 })
  expect(report.issueCounts['PARTLY_STRUCK']).toBe(1)
  expect(all).toMatchObject({ accepted: 24, skipped: 0 })
})

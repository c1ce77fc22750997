import { expect, test } from 'vitest'
import { listInboxes } from '#src/stock/folders/inbox.ts'
import { runPass } from '#src/stock/folders/pass.ts'
import { StockUploads } from '#src/stock/upload/stock-uploads.ts'
import { aVehicle, listOf, vehicles } from '../import-fixture.ts'
import { age, type InboxFixture, openInboxFixture } from './inbox-fixture.ts'

/** How often all bytes of a list are hashed, and how often they are read as a list. */
async function readings({ services }: InboxFixture, work: (counting: never) => Promise<unknown>) {
  const points: string[] = []
  await work({ ...services, crashPoint: (point: string) => points.push(point) } as never)
  return {
    hashed: points.filter((point) => point === 'list-hashed').length,
    read: points.filter((point) => point === 'list-read').length,
  }
}

/** Of a file that is dropped. */
async function readingsOfDrop(fixture: InboxFixture, content: string) {
  await fixture.drop('list.csv', content)
  const inboxes = listInboxes(fixture.config)
  return await readings(fixture, async (services) => {
    await runPass(services, inboxes)
    await age(fixture.pool)
    await runPass(services, inboxes)
  })
}

const console = {
  publicUrl: 'https://forecourt.example.com',
  people: [{ email: 'kim@example.com', role: 'engineer' as const }],
}

/** Columns whose meaning is not certain. */
const unsure = [
  'Code,VIN,Make,Model,Year,Odometer (km),Amount',
  ...[1, 2, 3, 4, 5, 6].map(
    (at) => `C${at}45,${aVehicle(at).vin},Toyota,Corolla,2019,45000,2100${at}.50`,
  ),
  '',
].join('\r\n')

test('a dropped list of one rooftop is read once, whether it is imported, refused or offered to the console', async () => {
  await using fixture = await openInboxFixture({ rooftop: 'north' }, { console })

  const imported = await readingsOfDrop(fixture, listOf(vehicles(20)))
  const doubtful = await readingsOfDrop(fixture, unsure)
  const guarded = await readingsOfDrop(fixture, listOf(vehicles(2)))
  const offered = await fixture.rows('select from ops.stock_upload')

  expect({ imported, doubtful, guarded }).toEqual({
    imported: { hashed: 1, read: 1 },
    doubtful: { hashed: 1, read: 1 },
    guarded: { hashed: 1, read: 1 },
  })
  expect(offered).toHaveLength(2)
})

test('a dropped list of several rooftops is hashed once, and read once more than it has rooftops', async () => {
  await using fixture = await openInboxFixture({ rooftopColumn: 'Branch' })
  const [header, ...rows] = listOf(vehicles(20)).trimEnd().split('\r\n')
  const list = rows.map((row, at) => `${row},${at % 2 === 0 ? 'north' : 'south'}`)

  const counts = await readingsOfDrop(fixture, [`${header},Branch`, ...list, ''].join('\r\n'))

  expect(counts).toEqual({ hashed: 1, read: 3 })
  expect(await fixture.rows('select from core.stock_import')).toHaveLength(2)
})

test('an uploaded list is read once to check it, and once to import it', async () => {
  await using fixture = await openInboxFixture()
  let id = ''

  const checked = await readings(fixture, async (services) => {
    const list = { fileName: 'a.csv', content: Buffer.from(listOf(vehicles(20))) }
    const about = { rooftop: 'north', email: 'kim@example.com', mode: 'snapshot' } as const
    ;({ id } = await new StockUploads(services).add({ ...list, ...about }))
  })
  const imported = await readings(fixture, async (services) => {
    await new StockUploads(services).import(id, { email: 'kim@example.com', typed: {} })
  })

  expect({ checked, imported }).toMatchObject({ checked: { read: 1 }, imported: { read: 1 } })
})

import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { aVehicle, listOf, vehicles } from '../../stock/import-fixture.ts'
import { someOf } from '../../support/cases.ts'
import { forecourt } from '../../support/child.ts'
import { runCli, runInProcess } from '../../support/cli.ts'
import { createTestDatabase } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

async function openShop() {
  const database = await createTestDatabase()
  const folder = await temporaryFolder()
  const config = {
    warehouse: { url: database.url },
    keys: { au: { value: 'key-of-the-group', kind: 'partner', region: 'AU' } },
    rooftops: [
      { uid: 'u1', name: 'Northside', key: 'au', timezone: 'Australia/Sydney', currency: 'AUD' },
    ],
  }
  await writeFile(join(folder.path, 'forecourt.yaml'), JSON.stringify(config))
  const importing = ['stock', 'import', 'list.csv', '--rooftop', 'u1']
  return {
    pool: database.pool,
    folder: folder.path,
    importing,
    list: (content: string) => writeFile(join(folder.path, 'list.csv'), content),
    run: (...args: string[]) => runInProcess([...importing, ...args], { cwd: folder.path }),
    [Symbol.asyncDispose]: async () => {
      await database[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

test('a person reads counts, changes and the first errors; exit 1 when rows were rejected', async () => {
  await using shop = await openShop()
  await shop.list(listOf(vehicles(3)))
  await shop.run()
  await shop.list(
    listOf([
      aVehicle(1, { price: '18990' }),
      aVehicle(2),
      aVehicle(4, { price: '1x2' }),
      aVehicle(5),
    ]),
  )

  const { code, stdout, stderr } = await shop.run()

  expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
  expect(stdout.replaceAll(shop.folder, '.')).toMatchInlineSnapshot(`
    "Import 2: ./list.csv at Northside (u1) (snapshot, utf-8, ",")
      4 records = 3 accepted + 1 rejected + 0 repeated + 0 skipped
      3 accepted = 1 added + 1 updated + 1 unchanged + 0 reappeared; 1 removed
    How its columns were read:
      stock number (stock_number): "Stock Number", as before
      VIN (vin): "VIN", as before
      make (make): "Make", as before
      model (model): "Model", as before
      model year (model_year): "Year", as before
      odometer (odometer): "Odometer (km)", as before
      asking price (price_asking): "Price", as before
      date in stock (received_date): NO COLUMN
      stored as text: "Colour" (colour_exterior)
      Name a column with --map <field>=<header>, or confirm that there is none with --map <field>=
    What its number columns hold:
      year: 2019 to 2019, median 2019; the stock before: 2019 to 2019, median 2019
      odometer: 45007 to 45035, median 45014; the stock before: 45007 to 45021, median 45014
      asking price in AUD: 18990 to 20005, median 20002; the stock before: 20001 to 20003, median 20002
    Added:
      S0005
    Updated:
      S0001: asking_price 20001 → 18990
    Removed:
      S0003
    Of its rows:
      error type-error (1)
        line 4, Price "1x2": this is not an amount of money: correct the cell or leave it empty (type-error)
    With --rejects <file> the rejected rows are written to a file of their own.
    "
  `)
})

test('--json is one document, and the same file again is exit 0 with nothing to do', async () => {
  await using shop = await openShop()
  await shop.list(listOf(vehicles(3)))

  const first = await shop.run('--json')
  const again = await shop.run()

  expect(first.code).toBe(0)
  const document = JSON.parse(first.stdout)
  expect(Object.keys(document)).toEqual(
    expect.arrayContaining([
      ...['importId', 'rooftop', 'file', 'mode', 'status', 'encoding', 'delimiter', 'mapping'],
      ...[
        'records',
        'accepted',
        'rejected',
        'collapsed',
        'skipped',
        'added',
        'updated',
        'unchanged',
      ],
      ...['removed', 'reappeared', 'changes', 'issues', 'warnings'],
    ]),
  )
  expect(document).toMatchObject({ importId: 1, rooftop: 'u1', status: 'imported', added: 3 })
  expect(again).toMatchObject({ code: 0, stderr: '' })
  expect(again.stdout).toMatch(/already imported as import 1, nothing to do\.\n/)
})

test('an unknown rooftop, a wrong mode and a missing file are exit 2, and leave nothing', async () => {
  await using shop = await openShop()
  await shop.list(listOf(vehicles(3)))

  const unknown = await runInProcess(['stock', 'import', 'list.csv', '--rooftop', 'u9'], {
    cwd: shop.folder,
  })
  const mode = await shop.run('--mode', 'merge')
  const missing = await runInProcess(['stock', 'import', 'none.csv', '--rooftop', 'u1', '--json'], {
    cwd: shop.folder,
  })

  expect([unknown.code, mode.code, missing.code]).toEqual([2, 2, 2])
  expect(unknown.stderr).toBe(
    '--rooftop u9 is not in the config (did you mean Northside (u1)?); known are: Northside (u1).\n',
  )
  expect(mode.stderr).toMatch(/snapshot, delta/)
  expect(JSON.parse(missing.stdout).error).toMatch(/none\.csv does not exist/)
  const { rows } = await shop.pool.query('select from core.rooftop')
  expect(rows).toEqual([])
})

test('a mapping that is not sure is exit 2 with the command to type', async () => {
  await using shop = await openShop()
  await shop.list('Code,Make,Model\nA17,Toyota,Corolla\nB18,Mazda,3\nC19,Kia,Rio\n')

  const { code, stdout, stderr } = await shop.run()

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr.replaceAll(shop.folder, '.')).toMatchInlineSnapshot(`
    "list.csv: nothing was imported, because the meaning of its columns is not certain.
    No column holds a stock number or a VIN, so the next file cannot be compared with this one. Export the list again with one of the two.

    Proposed columns:
      #1  Code   (not mapped)        A17 · B18 · C19
      #2  Make   make          99 %  Toyota · Mazda · Kia
      #3  Model  model         96 %  Corolla · 3 · Rio
      asking price (price_asking): NO COLUMN
      model year (model_year): NO COLUMN
      odometer (odometer): NO COLUMN
      date in stock (received_date): NO COLUMN
    Leave a field out with --map <field>= (nothing after the sign). The answer is stored for this rooftop and header.
    The full command:
      forecourt stock import ./list.csv --rooftop u1 --map stock_number=<header> (or vin=)
    "
  `)
})

test('the command to type has every option of the command that was refused', async () => {
  await using shop = await openShop()
  await shop.list('Code;Make;Model\nA17;Toyota;Corolla\nB18;Mazda;3\nC19;Kia;Rio\n')
  const options = '--encoding utf-8 --delimiter ; --mode delta --rejects ./rejects.csv --dry-run'
  const allowed =
    '--allow-mass-removal --allow-mass-change --allow-unusual-values --allow-older-values'

  const { stderr } = await shop.run(...`${options} ${allowed}`.split(' '))

  expect(stderr.replaceAll(shop.folder, '.')).toContain(
    `  forecourt stock import ./list.csv --rooftop u1 ${options.replace(';', "';'")} ${allowed} --map stock_number=`,
  )
})

test.for(someOf(['rows-written', 'before-commit'], 0))(
  'a kill at %s leaves nothing of the list, and the next import loads it',
  async (point) => {
    await using shop = await openShop()
    await shop.list(listOf([...vehicles(40), aVehicle(41, { km: '1x2' })]))
    const rejects = ['--rejects', 'rejects.csv']

    const env = { FORECOURT_CRASH_AT: point }
    const killed = await forecourt([...shop.importing, ...rejects], { cwd: shop.folder, env })
    const tables = ['stock_import', 'stock_import_row', 'stock_unit', 'stock_unit_change']
    const counts = await shop.pool.query(
      tables.map((table) => `select count(*)::int as rows from core.${table}`).join(' union all '),
    )
    const hadRejects = existsSync(join(shop.folder, 'rejects.csv'))
    const next = await shop.run(...rejects, '--json')

    expect(killed.signal).toBe('SIGKILL')
    expect([...counts.rows, hadRejects]).toEqual([...tables.map(() => ({ rows: 0 })), false])
    expect(JSON.parse(next.stdout)).toMatchObject({ added: 40, rejected: 1 })
    expect(existsSync(join(shop.folder, 'rejects.csv'))).toBe(true)
  },
)

test('a list from standard input is imported, and each kind of issue shows its own number', async () => {
  await using shop = await openShop()
  const vins = Array.from(
    { length: 38 },
    (_, at) => `${at < 33 ? '6' : '1'}AAAAAAA9AA100${100 + at}`,
  )
  const rows = vins.map((vin, index) => `S${index};${vin};Kia;Rio`)
  const args = ['stock', 'import', '-', '--rooftop', 'u1', '--delimiter', ';']

  const { code, stdout, stderr } = await runCli(args, {
    cwd: shop.folder,
    input: ['Stock Number;VIN;Make;Model', ...rows, ''].join('\r\n'),
  })

  expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
  expect(stdout).toMatch(/^Import 1: standard input at Northside \(u1\) \(snapshot, utf-8, ";"\)/)
  const shown = [...stdout.matchAll(/ (\w+ VIN_CHECK_DIGIT) \((\d+)\)|… and (\d+) more$/gm)]
  expect(shown.map(([text]) => text.trim())).toMatchInlineSnapshot(`
    [
      "error VIN_CHECK_DIGIT (5)",
      "info VIN_CHECK_DIGIT (30)",
      "… and 25 more",
    ]
  `)
})

import { expect, test } from 'vitest'
import type { Operation } from '#src/api/contract/operation.ts'
import { allOperations } from '#src/api/contract/operations.ts'
import { defaultWire } from '#src/values/wire.ts'
import { show } from './api-session.ts'
import { at } from './patterns.ts'
import type { Row, Send } from './row.ts'
import { rows } from './table.ts'

// The two documents, sentence by sentence, over HTTP. Read the tables beside the documents.

const shown = new Set<string>()

for (const row of rows) {
  test(
    `[${row.section}] ${row.says}`,
    () =>
      show(row, (send, { body, status }) => {
        const operation = operationOf(send)
        shown.add(`${operation?.name} ${status}`)
        // A row checks some of the answer, the contract reads all of it; a VIN may decode to nothing.
        if (status < 400 && at(body, 'error') === undefined) operation?.read(body, defaultWire)
      }),
    15_000,
  )
}

test('every statement is in the table once', () => {
  const names = rows.map(({ section, says }) => `${section} ${says}`)

  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
})

test('every operation and every documented status is shown by a row', () => {
  console.log(countsOf(rows))

  const wanted = allOperations.flatMap(({ name, status, statuses }) =>
    [status, ...Object.keys(statuses)].map((one) => `${name} ${one}`),
  )
  expect(wanted.filter((one) => !shown.has(one))).toEqual([])
  expect(rows.length).toBeGreaterThan(200)
})

/** The operation that answers to the method and the path, if there is one. */
function operationOf({ method, path, isVehicleData = false }: Send): Operation | undefined {
  return allOperations.find((operation) => {
    const transport = operation.transport(defaultWire)
    const pattern = transport.path.replaceAll(/\{\w+\}/g, '[^/]+')
    return (
      (operation.service === 'vehicleData') === isVehicleData &&
      transport.method === method &&
      new RegExp(`^${pattern}$`).test(path.replace(/\?.*/, ''))
    )
  })
}

function countsOf(all: readonly Row[]): string {
  const bySection = Map.groupBy(all, ({ section }) => /^\w §\d+/.exec(section)?.[0] ?? section)
  const lines = [...bySection].sort().map(([section, own]) => `[${section}] ${own.length} rows`)
  return [...lines, `${all.length} rows in all`].join('\n')
}

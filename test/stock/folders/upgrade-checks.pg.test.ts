import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { StockUploads } from '#src/stock/upload/stock-uploads.ts'
import { migrationsFolder } from '#src/warehouse/db/migration-files.ts'
import { listOf, vehicles } from '../import-fixture.ts'
import { openInboxFixture } from './inbox-fixture.ts'

const console = {
  publicUrl: 'https://forecourt.example.com',
  people: [{ email: 'kim@example.com', role: 'engineer' as const }],
}

test('a list that an earlier version refused still has its reason and its command, and can be checked again in the console', async () => {
  await using fixture = await openInboxFixture({ rooftop: 'north' }, { console })
  await fixture.drop('all.csv', listOf(vehicles(20)))
  await fixture.pass()
  await fixture.drop('few.csv', listOf(vehicles(2)))
  await fixture.pass()
  const reason = "all of it would\nbe removed: 'yes'"
  await fixture.pool.query(
    `alter table ops.stock_inbox_part drop column result, add column reason text, add column command text`,
  )
  await fixture.pool.query(
    `update ops.stock_inbox_part set reason = $1, command = 'forecourt stock import x.csv' where outcome = 'refused'`,
    [reason],
  )

  await fixture.pool.query(
    await readFile(join(migrationsFolder(), '0037_stock_checks.sql'), 'utf8'),
  )

  expect((await fixture.status()).failed).toMatchObject([
    {
      file: 'few.csv',
      reason: `${reason}\nIf the list is right: forecourt stock import x.csv`,
      commands: [],
    },
  ])
  expect(await fixture.rows('select result from ops.stock_inbox_part order by file_id')).toEqual([
    { result: null },
    { result: expect.objectContaining({ state: 'refused' }) },
  ])
  const [upload] = await fixture.rows<{ id: string; result: unknown }>(
    'select upload_id as id, result from ops.stock_upload',
  )
  expect(upload!.result).toBeNull()
  expect(await new StockUploads(fixture.services).check(upload!.id)).toMatchObject({
    state: 'ready',
    refusals: [{ is: 'removal', count: 18 }],
  })
})

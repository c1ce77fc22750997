// npm run marts: rewrites test/warehouse/marts/columns.txt, sql/marts/DICTIONARY.md, sql/bi/dbt and
// sql/bi/contract from sql/marts.
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type pg from 'pg'
import { openPool } from '#src/warehouse/db/connect.ts'
import { readMarts } from '#src/warehouse/db/mart-files.ts'
import { prepareWarehouse } from '#src/warehouse/warehouse.ts'
import { readCatalogue } from './marts-catalogue.ts'
import {
  columnProblems,
  existingColumns,
  majorOf,
  parseSnapshot,
  snapshotOf,
  snapshotText,
} from './marts-columns.ts'
import { contractFile } from './marts-contract.ts'
import { dbtFiles } from './marts-dbt.ts'
import { dictionaryPage } from './marts-dictionary.ts'
import { startServer } from './postgres-server.ts'
import { databaseUrl } from './postgres-url.ts'

const server = await startServer()
try {
  const name = `forecourt_marts_${process.pid}`
  const admin = await openPool(server.url, { applicationName: 'marts', max: 1 })
  await admin.query(`create database ${name} template template0 encoding 'UTF8'`)
  const pool = await openPool(databaseUrl(server.url, name), { applicationName: 'marts', max: 2 })
  try {
    await prepareWarehouse(pool)
    await write(pool)
  } finally {
    await pool.end()
    await admin.query(`drop database ${name} with (force)`)
    await admin.end()
  }
} finally {
  await server.stop()
}

/** Writes nothing where new columns would hide a change that breaks dashboards. */
async function write(pool: pg.Pool): Promise<void> {
  const { version } = await readMarts()
  const views = await readCatalogue(pool, ['mart', 'mart_pii'])
  const today = snapshotOf(version, views)
  const file = pathOf('../warehouse/marts/columns.txt')
  const committed = await readFile(file, 'utf8').catch(() => null)
  const existing = await existingColumns(pool)
  const problems =
    committed === null ? [] : columnProblems(parseSnapshot(committed), today, existing)
  if (problems.length > 0) {
    console.error(`Nothing was written: ${problems.join('\n')}`)
    process.exitCode = 1
    return
  }
  if (committed !== null && majorOf(parseSnapshot(committed)) < majorOf(today)) {
    const oldColumns = `../marts/columns_v${majorOf(parseSnapshot(committed))}.txt`
    await writeFile(pathOf(oldColumns), committed)
  }
  await writeFile(pathOf('../../sql/marts/DICTIONARY.md'), dictionaryPage(version, views))
  console.log('Wrote sql/marts/DICTIONARY.md')
  for (const [name, text] of dbtFiles(version, views)) {
    await writeFile(pathOf(`../../sql/bi/dbt/${name}`), text)
    console.log(`Wrote sql/bi/dbt/${name}`)
  }
  await writeFile(pathOf('../../sql/bi/contract/forecourt.odcs.yaml'), contractFile(version, views))
  console.log('Wrote sql/bi/contract/forecourt.odcs.yaml')
  await writeFile(file, snapshotText(today))
  console.log('Wrote test/warehouse/marts/columns.txt')
}

function pathOf(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url))
}

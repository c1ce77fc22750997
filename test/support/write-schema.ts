// npm run schema: rewrites test/schema.sql and src/warehouse/db/tables.ts from sql/migrations.
import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { openPool } from '#src/warehouse/db/connect.ts'
import { migrate } from '#src/warehouse/db/migrate.ts'
import { generateTables } from './generate-tables.ts'
import { startServer } from './postgres-server.ts'
import { databaseUrl } from './postgres-url.ts'
import { dumpSchema } from './schema-dump.ts'

const server = await startServer()
try {
  const name = `forecourt_schema_${process.pid}`
  const admin = await openPool(server.url, { applicationName: 'schema', max: 1 })
  await admin.query(`create database ${name} template template0 encoding 'UTF8'`)
  const pool = await openPool(databaseUrl(server.url, name), { applicationName: 'schema', max: 2 })
  try {
    await migrate(pool)
    await writeFile(pathOf('../schema.sql'), await dumpSchema(pool))
    await writeFile(pathOf('../../src/warehouse/db/tables.ts'), await generateTables(pool))
    console.log('Wrote test/schema.sql and src/warehouse/db/tables.ts')
  } finally {
    await pool.end()
    await admin.query(`drop database ${name} with (force)`)
    await admin.end()
  }
} finally {
  await server.stop()
}

function pathOf(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url))
}

import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { TestProject } from 'vitest/node'
import { openPool } from '#src/warehouse/db/connect.ts'
import { prepareWarehouse } from '#src/warehouse/warehouse.ts'

import type { TestServer } from './postgres.ts'
import { startServer } from './postgres-server.ts'
import { databaseUrl } from './postgres-url.ts'

// The commands that tests start as processes compile the program once, not once each.
process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(
  new URL('../../node_modules/.cache/compile', import.meta.url),
)

/** Starts a Postgres for the run, builds the migrated template, and undoes both at the end. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { url, description: what, stop } = await startServer()
  const run = randomBytes(4).toString('hex')
  const server: TestServer = { url, run, template: `forecourt_template_${run}` }
  try {
    const startedAt = performance.now()
    await buildTemplate(server)
    const took = Math.round(performance.now() - startedAt)
    console.log(`Tests use ${what} (template built in ${took} ms)`)
  } catch (error) {
    await dropDatabases(server)
    await stop()
    throw error
  }
  project.provide('testServer', server)
  return async () => {
    await dropDatabases(server)
    await stop()
  }
}

async function buildTemplate(server: TestServer): Promise<void> {
  const admin = await openPool(server.url, { applicationName: 'tests', max: 1 })
  try {
    await admin.query(`create database ${server.template} template template0 encoding 'UTF8'`)
    const url = databaseUrl(server.url, server.template)
    const pool = await openPool(url, { applicationName: 'tests', max: 2 })
    try {
      await prepareWarehouse(pool)
      // Otherwise the first night of every copy analyzes the calendar.
      await pool.query('select ops.refresh_statistics()')
    } finally {
      await pool.end()
    }
    // An open connection to the template would make every clone fail.
    await admin.query(`alter database ${server.template} with allow_connections false`)
  } finally {
    await admin.end()
  }
}

async function dropDatabases({ url, run }: TestServer): Promise<void> {
  const admin = await openPool(url, { applicationName: 'tests', max: 1 })
  try {
    const { rows } = await admin.query<{ name: string }>(
      `select datname as name from pg_database where datname like 'forecourt\\_%\\_' || $1::text || '%'`,
      [run],
    )
    for (const { name } of rows) await admin.query(`drop database if exists ${name} with (force)`)
  } finally {
    await admin.end()
  }
}

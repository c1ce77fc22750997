import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { UsageError } from '../../errors.ts'
import { sqlFolder } from './migration-files.ts'

/** A view of the marts: a file `NN_name.sql` in sql/marts. */
export interface MartFile {
  readonly schema: 'mart' | 'mart_pii'
  readonly name: string
  readonly file: string
  /** What one row is, from the file's first line. */
  readonly grain: string
  readonly sql: string
}

/** All marts in the order of their build. */
export interface Marts {
  /** semver of the columns that BI tools rely on. */
  readonly version: string
  /** sha256 of version and files, in hex. */
  readonly checksum: string
  readonly files: readonly MartFile[]
}

/** Reads `sql/marts`. UsageError for a file that is misnamed, states no grain, or creates another view than its name. */
export async function readMarts(folder: string = sqlFolder('marts')): Promise<Marts> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort()
  const files = await Promise.all(names.map((file) => readMart(folder, file)))
  const version = (await readFile(join(folder, 'VERSION'), 'utf8')).trim()
  const hash = createHash('sha256').update(version)
  for (const { file, sql } of files) hash.update(file).update(sql)
  return { version, checksum: hash.digest('hex'), files }
}

async function readMart(folder: string, file: string): Promise<MartFile> {
  const path = join(folder, file)
  const [, name] = /^\d{2}_([a-z0-9_]+)\.sql$/.exec(file) ?? []
  if (name === undefined)
    throw new UsageError(`${path} is not named like 10_fact_evaluation.sql: rename it.`)
  const sql = (await readFile(path, 'utf8')).replaceAll('\r\n', '\n')
  const [, grain] = /^-- grain: (.+)\n/.exec(sql) ?? []
  if (grain === undefined)
    throw new UsageError(`${path} must open with "-- grain: one row per …": say what one row is.`)
  const [, schema] =
    new RegExp(`^create or replace view (mart|mart_pii)\\.${name}\\b`, 'm').exec(sql) ?? []
  if (schema !== 'mart' && schema !== 'mart_pii')
    throw new UsageError(`${path} must hold "create or replace view mart.${name} as": rename it.`)
  return { schema, name, file, grain, sql }
}

/** The same views under row-level security: those of `mart` in the schema `mart_scoped`. */
export function toScopedSchema(sql: string): string {
  return sql.replaceAll(/\bmart\./g, 'mart_scoped.')
}

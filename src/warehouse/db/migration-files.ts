import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { errorText, UsageError } from '../../errors.ts'

/** A file `NNNN_name.sql`. */
export interface Migration {
  readonly version: number
  readonly name: string
  readonly file: string
  readonly sql: string
  /** sha256 of the text with LF line ends, in hex. */
  readonly checksum: string
}

/** `sql/<name>` at the root of our package, in a checkout and in dist/ of a published package. */
export function sqlFolder(name: string): string {
  let folder = import.meta.dirname
  while (!existsSync(join(folder, 'package.json'))) {
    const parent = dirname(folder)
    if (parent === folder)
      throw new UsageError(
        `No package.json above ${import.meta.dirname}, so sql/${name} was not found: ` +
          'install forecourt again.',
      )
    folder = parent
  }
  return join(folder, 'sql', name)
}

/** `sql/migrations` of our package. */
export function migrationsFolder(): string {
  return sqlFolder('migrations')
}

/** The migrations of a folder by version. UsageError for a misnamed file or a number used twice. */
export async function readMigrations(folder: string): Promise<Migration[]> {
  const names = await readdir(folder).catch((cause) => {
    throw new UsageError(
      `The migrations folder ${folder} cannot be read (${errorText(cause)}): install forecourt again.`,
      { cause },
    )
  })
  const files = names.filter((name) => name.endsWith('.sql')).sort()
  const migrations = await Promise.all(files.map((file) => readMigration(folder, file)))
  const duplicate = migrations.find((one, index) => one.version === migrations[index - 1]?.version)
  if (duplicate !== undefined)
    throw new UsageError(
      `Two migrations in ${folder} have number ${duplicate.version}: renumber ${duplicate.file}.`,
    )
  return migrations
}

async function readMigration(folder: string, file: string): Promise<Migration> {
  const [, number, name] = /^(\d{4})_([a-z0-9_-]+)\.sql$/.exec(file) ?? []
  if (number === undefined || name === undefined)
    throw new UsageError(
      `${join(folder, file)} is not named like 0001_name.sql: rename it (lower case, four digits).`,
    )
  const sql = (await readFile(join(folder, file), 'utf8')).replaceAll('\r\n', '\n')
  // It would end the transaction of the runner and leave half a migration.
  if (/^\s*(commit|rollback)\s*;/im.test(sql))
    throw new UsageError(
      `${join(folder, file)} ends its transaction itself: remove commit and rollback from it.`,
    )
  const checksum = createHash('sha256').update(sql).digest('hex')
  return { version: Number(number), name, file, sql, checksum }
}

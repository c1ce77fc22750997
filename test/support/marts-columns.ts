import type pg from 'pg'
import { type MartView, readCatalogue } from './marts-catalogue.ts'

/** What BI tools rely on: the columns of the marts, and their version. */
export interface Snapshot {
  readonly version: string
  /** `view column type`, sorted. */
  readonly lines: readonly string[]
}

const title = '# Written by `npm run marts` from sql/marts; do not edit. Version '

/** Views of the schema `mart` by their name, others by their full name. */
export function snapshotOf(version: string, views: readonly MartView[]): Snapshot {
  const lines = views.flatMap(({ schema, name, columns }) =>
    columns.map((column) => {
      const view = /^mart(_v\d+)?$/.test(schema) ? name : `${schema}.${name}`
      return `${view} ${column.name} ${column.type}`
    }),
  )
  return { version, lines: lines.sort() }
}

export function snapshotText({ version, lines }: Snapshot): string {
  return `${title}${version}\n${lines.join('\n')}\n`
}

export function parseSnapshot(text: string): Snapshot {
  const [first = '', ...lines] = text.trimEnd().split('\n')
  return { version: first.slice(title.length), lines }
}

/**
 * What is wrong about going from the committed columns to those of today. Removals, renames and other types need another
 * major version and the old schema beside the new one; additions need another minor version. `existing` has the columns of
 * the schema `mart_v<major>`, null where there is none.
 */
export function columnProblems(
  committed: Snapshot,
  today: Snapshot,
  existing: (major: number) => readonly string[] | null,
): string[] {
  const [before, now] = [partsOf(committed.version), partsOf(today.version)]
  const lost = committed.lines.filter((line) => !today.lines.includes(line))
  const added = today.lines.filter((line) => !committed.lines.includes(line))
  const isMajor = now.major > before.major
  if (lost.length > 0 && !isMajor) return [breaks(lost, before.major)]
  if (isMajor) {
    const present = existing(before.major) ?? []
    const missing = committed.lines.filter((line) => !present.includes(line))
    return missing.length === 0 ? [] : [leavesNothing(missing, before.major)]
  }
  if (now.major < before.major || now.minor < before.minor)
    return [`sql/marts/VERSION went back from ${committed.version} to ${today.version}`]
  if (added.length > 0 && now.minor === before.minor)
    return [
      `new columns need another minor version in sql/marts/VERSION (it is ${today.version}), then "npm run marts": ${shown(added)}`,
    ]
  return []
}

/** The columns of the schemas `mart_v<major>` that exist in a database, by major version; null where there is none. */
export async function existingColumns(
  pool: pg.Pool,
): Promise<(major: number) => readonly string[] | null> {
  const { rows } = await pool.query<{ name: string }>(
    "select nspname as name from pg_namespace where nspname ~ '^mart_v[0-9]+$'",
  )
  const existing = new Map<string, readonly string[]>()
  for (const { name } of rows)
    existing.set(name, snapshotOf('', await readCatalogue(pool, [name])).lines)
  return (major) => existing.get(`mart_v${major}`) ?? null
}

/** Earlier versions that were promised to stay, by their committed columns, and do not. */
export function missingVersions(
  promised: ReadonlyMap<number, Snapshot>,
  existing: (major: number) => readonly string[] | null,
): string[] {
  return [...promised].flatMap(([major, { lines }]) => {
    const present = existing(major) ?? []
    const missing = lines.filter((line) => !present.includes(line))
    return missing.length === 0 ? [] : [leavesNothing(missing, major)]
  })
}

export const majorOf = ({ version }: Snapshot): number => partsOf(version).major

function breaks(lost: readonly string[], major: number): string {
  return [
    `dashboards that use these break, since they are gone, renamed or of another type: ${shown(lost)}.`,
    'Put them back, and add what is new beside them. If the old ones must go:',
    howToKeep(major),
  ].join('\n')
}

function leavesNothing(missing: readonly string[], major: number): string {
  return [
    `version ${major} of the marts has to stay for six months, but mart_v${major} lacks ${shown(missing)}.`,
    howToKeep(major),
  ].join('\n')
}

function howToKeep(major: number): string {
  return [
    `1. copy sql/marts, VERSION included, to sql/marts_v${major} as it was, before anything else;`,
    `2. let src/warehouse/db/mart-files.ts read that folder too, and src/warehouse/db/marts.ts build it as mart_v${major} and mart_scoped_v${major} (as \`scoped\` does: the schema's name is replaced), with the grants of both;`,
    `3. write ${major + 1}.0.0 into sql/marts/VERSION, change the views, run "npm run marts": test/warehouse/marts/columns_v${major}.txt keeps the promise;`,
    `4. say in CHANGELOG.md until when mart_v${major} stays, and take all of it away then.`,
  ].join('\n')
}

function shown(lines: readonly string[]): string {
  const more = lines.length > 10 ? ` and ${lines.length - 10} more` : ''
  return `${lines.slice(0, 10).join('; ')}${more}`
}

function partsOf(version: string): { readonly major: number; readonly minor: number } {
  const [, major, minor] = /^(\d+)\.(\d+)\.(\d+)$/.exec(version) ?? []
  if (major === undefined || minor === undefined)
    throw new Error(`"${version}" is not a version: write one like 1.0.0 into sql/marts/VERSION`)
  return { major: Number(major), minor: Number(minor) }
}

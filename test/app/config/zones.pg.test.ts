import { expect, test } from 'vitest'
import { zone } from '#src/app/config/values.ts'
import { createTestDatabase } from '../../support/postgres.ts'

/** Names that Node has had and Postgres has not. */
const olderNames = [
  ...['US/Pacific-New', 'Canada/East-Saskatchewan'],
  ...['AST4', 'CST6CDT', 'EST5', 'HST10', 'MST7', 'YST9YDT'].map((name) => `SystemV/${name}`),
]

test('the config takes a time zone only where Node and Postgres give it the same clocks', async () => {
  await using database = await createTestDatabase()
  const { rows } = await database.pool.query<{ name: string; hasArea: boolean }>(`
    select name, name like '%/%' or name in ('GMT', 'UTC') as "hasArea" from pg_timezone_names
    union select abbrev, abbrev in ('GMT', 'UTC') from pg_timezone_abbrevs`)
  const names = [...rows.map(({ name }) => name), ...olderNames]
  names.push(...Intl.supportedValuesOf('timeZone'))
  const known = new Set(rows.flatMap(({ name, hasArea }) => (hasArea ? [name] : [])))

  const accepted = [...new Set(names)].filter((name) => zone.safeParse(name).success)

  expect(accepted.filter((name) => !known.has(name))).toEqual([])
  // A folder of Postgres, and a zone that is not a place.
  const ofPostgres = [...known].filter((name) => !/^(posix|right|Etc\/Unknown)/.test(name))
  expect(ofPostgres.filter((name) => !accepted.includes(name))).toEqual([])
})

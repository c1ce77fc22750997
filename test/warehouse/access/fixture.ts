import { makeConfig } from '#src/app/config/read.ts'
import { createTestDatabase, type TestDatabase } from '../../support/postgres.ts'
import { type Logins, openLogins } from './logins.ts'

export type Fixture = TestDatabase & { readonly logins: Logins }

export const drafts: Parameters<Logins['configOf']>[0] = {
  reader: { role: 'bi_reader' },
  tenant: { role: 'bi_tenant', groups: ['north'] },
  people: { role: 'bi_pii_reader' },
  writer: { role: 'forecourt_writer' },
}

/** A warehouse with a group of one rooftop, `north`, and another. */
export async function openFixture(): Promise<Fixture> {
  const database = await createTestDatabase()
  await database.pool.query(
    `insert into core.rooftop_group (group_code) values ('north'), ('south');
     insert into core.rooftop (rooftop_uid, group_id, rooftop_name, region, time_zone, currency_code, odometer_unit)
     select group_code, group_id, group_code, 'AU', 'Australia/Sydney', 'AUD', 'km' from core.rooftop_group`,
  )
  const logins = await openLogins(database, makeConfig({}, '/nowhere'), drafts)
  return {
    ...{ url: database.url, pool: database.pool, logins },
    [Symbol.asyncDispose]: async () => {
      await logins[Symbol.asyncDispose]()
      await database[Symbol.asyncDispose]()
    },
  }
}

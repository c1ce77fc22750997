import type { Fixture } from '../support/fixture.ts'
import { reportedFixture } from '../support/reports-fixture.ts'
import { type Logins, openLogins } from '../warehouse/access/logins.ts'

/** A loaded warehouse with a login of each kind: `reader`, `tenant` of one dealer group, and `customers`. */
export interface EcosystemWarehouse extends AsyncDisposable {
  readonly fixture: Fixture
  readonly logins: Logins
  /** The dealer group of the login `tenant`. */
  readonly group: string
}

export async function openEcosystemWarehouse(): Promise<EcosystemWarehouse> {
  const fixture = await reportedFixture()
  const { rows } = await fixture.database.pool.query<{ code: string }>(
    'select group_code as code from core.rooftop_group order by group_id limit 1',
  )
  const group = rows[0]!.code
  const logins = await openLogins(fixture.database, fixture.config, {
    reader: { role: 'bi_reader' },
    tenant: { role: 'bi_tenant', groups: [group] },
    customers: { role: 'bi_pii_reader' },
  })
  await logins.grant()
  return {
    ...{ fixture, logins, group },
    [Symbol.asyncDispose]: async () => {
      await logins[Symbol.asyncDispose]()
      await fixture[Symbol.asyncDispose]()
    },
  }
}

/** A login as the variables that every client of libpq reads. */
export function loginVariables(url: string): Record<string, string> {
  const { hostname, port, pathname, username, password } = new URL(url)
  return {
    ...{ PGHOST: hostname, PGPORT: port, PGDATABASE: pathname.slice(1), PGUSER: username },
    PGPASSWORD: decodeURIComponent(password),
  }
}

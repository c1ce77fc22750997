import { createTestDatabase, type TestDatabase } from '../../support/postgres.ts'

/** Rooftops 1 and 2 of one dealer group, 3 of another. */
export async function openGroups(): Promise<TestDatabase> {
  const database = await createTestDatabase()
  await database.pool.query(`
    insert into core.rooftop_group (group_id, group_code) overriding system value values (1, 'north'), (2, 'south');
    insert into core.rooftop
      (rooftop_id, rooftop_uid, group_id, rooftop_name, region, time_zone, currency_code, odometer_unit)
      overriding system value
      select id, 'rooftop-' || id, 1 + id / 3, 'Rooftop', 'AU', 'Australia/Sydney', 'AUD', 'km' from generate_series(1, 3) as id`)
  return database
}

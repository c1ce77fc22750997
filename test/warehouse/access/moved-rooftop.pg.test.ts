import type pg from 'pg'
import { expect, test } from 'vitest'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import { users } from '#src/streams/users/users.ts'
import { inTransaction } from '#src/warehouse/db/transaction.ts'
import { rebuildSums } from '../../support/aggregates-fixture.ts'
import { openFixture } from '../../support/fixture.ts'
import { openLogins } from './logins.ts'

const now = new Date('2026-03-10T02:00:00Z')

interface Sale {
  readonly key: string
  readonly name: string | null
  readonly isAtHome: boolean
}

/** The salesperson of each evaluation, and whether they belong to the rooftop's dealer group. */
async function sales(pool: pg.Pool): Promise<Sale[]> {
  const { rows } = await pool.query<Sale>(
    `select kind || eval_id || ' ' || version_no as key, display_name as name, u.group_id = r.group_id as "isAtHome"
     from (
       select 'e' as kind, rooftop_id, eval_id, 0 as version_no, user_id from core.evaluation
       union all select 'v', rooftop_id, eval_id, version_no, user_id from core.evaluation_version
     ) as e join core.rooftop as r using (rooftop_id) join core.app_user as u using (user_id) order by 1`,
  )
  return rows
}

test('a rooftop that moves to another dealer group takes its salespeople along', async () => {
  await using fixture = await openFixture({
    sandbox: { seed: 7, evaluations: 90, days: 20, now },
    sync: { start: '2026-02-18' },
    streams: [users, evaluations],
  })
  const { pool } = fixture.database
  await fixture.night()
  const moving = fixture.config.rooftops.find(({ uid, group }) =>
    fixture.config.rooftops.some((other) => other.group === group && other.uid !== uid),
  )!
  const target = fixture.config.rooftops.find(({ group }) => group !== moving.group)!.group
  // One also sells at a rooftop that does not move.
  await pool.query(
    `update core.evaluation set user_id = (
       select user_id from core.evaluation join core.rooftop using (rooftop_id) where rooftop_uid = $1 and user_id is not null limit 1)
     where (rooftop_id, eval_id) in (
       select e.rooftop_id, e.eval_id from core.evaluation as e join core.rooftop as r using (rooftop_id)
       join core.rooftop_group as g on g.group_id = r.group_id
       where g.group_code = $2 and r.rooftop_uid <> $1 limit 1)`,
    [moving.uid, moving.group],
  )
  await rebuildSums(pool)
  const before = await sales(pool)
  const rooftops = fixture.config.rooftops.map((rooftop) =>
    rooftop.uid === moving.uid ? { ...rooftop, group: target } : rooftop,
  )

  await fixture.nightAfter(0, { config: { ...fixture.config, rooftops } })

  const after = await sales(pool)
  expect(before.every(({ isAtHome }) => isAtHome)).toBe(true)
  expect(after).toEqual(before)
  expect(before.length).toBeGreaterThan(50)
  expect((await pool.query('select * from core.agg_differences()')).rows).toEqual([])
  const people = async () =>
    (
      await pool.query(
        'select * from core.app_user join pii.app_user_email using (user_id) order by 1',
      )
    ).rows
  const settled = await people()
  await pool.query('select core.move_people(rooftop_id, group_id) from core.rooftop')
  expect(await people()).toEqual(settled)
  await expectTenancy(fixture, rooftops)
})

/** For every mart, the rows of all groups together are the reader's rows, each once. */
async function expectTenancy(
  fixture: Awaited<ReturnType<typeof openFixture>>,
  rooftops: readonly { readonly group: string }[],
): Promise<void> {
  const groups = [...new Set(rooftops.map(({ group }) => group))]
  await using logins = await openLogins(fixture.database, fixture.config, {
    reader: { role: 'bi_reader' },
    ...Object.fromEntries(
      groups.map((code, index) => [`tenant${index}`, { role: 'bi_tenant', groups: [code] }]),
    ),
  })
  await logins.grant()
  const views = [
    'dim_user',
    'dim_rooftop',
    'fact_evaluation',
    'evaluation_wide',
    'rpt_02_look_to_book',
  ]
  await inTransaction(fixture.database.pool, async ({ client }) => {
    const rowsAs = async (key: string, view: string): Promise<string[]> => {
      await client.query(`set local role ${logins.name(key)}`)
      const { rows } = await client.query<{ row: string }>(
        `select row_to_json(v)::text as row from ${view} as v`,
      )
      await client.query('reset role')
      return rows.map(({ row }) => row).sort()
    }
    for (const view of views) {
      const own: string[] = []
      for (const index of groups.keys())
        own.push(...(await rowsAs(`tenant${index}`, `mart_scoped.${view}`)))
      expect(own.sort(), view).toEqual(await rowsAs('reader', `mart.${view}`))
    }
  })
}

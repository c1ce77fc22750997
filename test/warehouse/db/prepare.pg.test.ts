import { expect, test } from 'vitest'
import { openPool } from '#src/warehouse/db/connect.ts'
import { prepareWarehouse } from '#src/warehouse/warehouse.ts'
import { emptyTestDatabase } from '../../support/postgres.ts'

test('processes that start at once on an empty warehouse prepare it exactly once', async () => {
  for (let round = 0; round < 3; round++) {
    await using database = await emptyTestDatabase()
    const pools = await Promise.all(
      Array.from({ length: 4 }, () => openPool(database.url, { applicationName: 'test', max: 2 })),
    )

    const runs = await Promise.all(pools.map((pool) => prepareWarehouse(pool)))

    await Promise.all(pools.map((pool) => pool.end()))
    expect(runs.map(({ applied }) => applied.length > 0).filter(Boolean)).toHaveLength(1)
  }
})

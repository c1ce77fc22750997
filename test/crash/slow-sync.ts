import { type Child, until } from '../support/child.ts'
import type { ChildFixture, ChildWarehouse } from '../support/child-fixture.ts'

/** A world that is read within a second, for a source that is made slow on purpose. */
export const slowSyncWorld = {
  sandbox: { now: new Date('2026-03-18T02:15:00Z'), rooftops: 2, evaluations: 90, days: 5 },
  sync: { start: '2026-03-12', windowHours: 6 },
  http: { concurrency: 2 },
}

/** A sync that is reading evaluations from a slow source; `hurry` makes the source fast again. */
export async function startSlowSync(
  { sandbox: { faults, requests } }: ChildFixture,
  warehouse: ChildWarehouse,
  env: Readonly<Record<string, string>> = {},
): Promise<{ child: Child; hurry(): void }> {
  const slow = faults.add({ match: { path: '/geteval' }, fault: { kind: 'slow', ms: 250 } })
  const before = requests.count('/geteval')
  const child = warehouse.start(['sync', '--json'], env)
  await until(() => requests.count('/geteval') > before + 4)
  return { child, hurry: () => slow.remove() }
}

import { expect, test } from 'vitest'
import { Drift } from '#src/sync/records/drift.ts'

test('the items of a list are documented when the list is, and only then', () => {
  const drift = new Drift({
    paths: new Set(['Photos', 'Photos[].id', 'customFields']),
    required: [],
  })

  drift.add({
    Photos: [{ id: 1, other: 2 }],
    unknownA: { deep: [{ x: 1 }] },
    customFields: { ours: [{ y: 1 }] },
  })

  const found = drift.seen.map(({ path, classification }) => [path, classification])
  expect(Object.fromEntries(found)).toEqual({
    Photos: 'documented',
    'Photos[]': 'documented',
    'Photos[].id': 'documented',
    'Photos[].other': 'undocumented',
    unknownA: 'undocumented',
    'unknownA.deep': 'undocumented',
    'unknownA.deep[]': 'undocumented',
    'unknownA.deep[].x': 'undocumented',
    customFields: 'documented',
    'customFields.*': 'documented',
    'customFields.*[]': 'documented',
    'customFields.*[].y': 'documented',
  })
})

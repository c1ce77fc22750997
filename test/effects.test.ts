import { expect, test } from 'vitest'
import type { Effect, Operation } from '#src/api/contract/operation.ts'
import { allOperations } from '#src/api/contract/operations.ts'
import { readSources } from './support/imports.ts'

// Streams, jobs and daemons may not write or bill at a source (sources/service-client.test.ts tests the types).

const unattended = /^(src\/(streams|sync|app\/scheduler|web\/webhook|web\/console)\/|jobs\/)/

/** The constants of src/api/contract/ that hold an operation, with its effect. */
async function declared(sources: ReadonlyMap<string, string>): Promise<Map<string, Effect>> {
  const effects = new Map<string, Effect>()
  const files = [...sources.keys()].filter((path) => /^src\/api\/contract\/[^/]+\//.test(path))
  for (const path of files) {
    const module = (await import(`../${path}`)) as Record<string, unknown>
    for (const [name, value] of Object.entries(module))
      if (allOperations.includes(value as Operation)) effects.set(name, (value as Operation).effect)
  }
  return effects
}

test('no stream, no job and no daemon names an operation that writes or bills', async () => {
  const sources = await readSources()
  const effects = await declared(sources)
  const beyond = [...effects].filter(([, effect]) => effect !== 'read').map(([name]) => name)
  const named = new RegExp(`\\b(${beyond.join('|')})\\b`)

  expect(effects.size).toBe(allOperations.length)
  expect(beyond.length).toBeGreaterThan(10)
  const violations = [...sources].filter(
    ([path, text]) => unattended.test(path) && named.test(text),
  )
  expect(violations.map(([path]) => path)).toEqual([])
})

test('only the command line may do more than read, and a client whose user allows it', async () => {
  const opened = [...(await readSources())].flatMap(([path, text]) =>
    [...text.matchAll(/openServices(?:<\w+>)?\([^)]*?\[([^\]]*)\]/g)].map((call) => ({
      path,
      reach: call[1]!.match(/\w+/g),
    })),
  )

  expect(opened.length).toBeGreaterThan(1)
  expect(opened.filter(({ reach }) => String(reach) !== 'read')).toEqual([
    { path: 'src/api/client/client.ts', reach: ['read', 'allow'] },
    { path: 'src/app/billing/call-operation.ts', reach: ['read', 'write', 'bill'] },
    { path: 'src/app/commands/webhooks.ts', reach: ['read', 'write'] },
  ])
})

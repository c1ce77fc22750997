import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { inboxCrashPoints, offerCrashPoints } from '#src/stock/folders/crash-points.ts'
import { crashPoints } from '#src/sync/run/crash-points.ts'
import { lakeCrashPoints } from '#src/warehouse/lake/crash-points.ts'

const src = fileURLToPath(new URL('../../src', import.meta.url))

test('the list of crash points is exactly that of the code', () => {
  const used = globSync('**/*.ts', { cwd: src }).flatMap((file) =>
    [...readFileSync(`${src}/${file}`, 'utf8').matchAll(/crashPoint(?:\?\.)?\(\s*(.+?)\s*\)/g)].map(
      ([, argument]) => argument!,
    ),
  )

  const known = [...crashPoints, ...inboxCrashPoints, ...offerCrashPoints, ...lakeCrashPoints]
  const literals = used.filter((argument) => !argument.startsWith('name'))

  expect(new Set(literals)).toEqual(new Set(known.map((name) => `'${name}'`)))
})

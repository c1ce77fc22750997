import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { lockClass } from '#src/warehouse/db/locks.ts'
import { readSources } from '../../support/imports.ts'

const registry = 'src/warehouse/db/locks.ts'
const names = Object.keys(lockClass)

async function readSql(): Promise<Map<string, string>> {
  const folder = fileURLToPath(new URL('../../../sql', import.meta.url))
  const files = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.sql'))
  const texts = files.map(
    async (name) => [name, await readFile(`${folder}/${name}`, 'utf8')] as const,
  )
  return new Map(await Promise.all(texts))
}

/** Files that take an advisory lock that is not in the registry. */
function unknownLocks(sources: ReadonlyMap<string, string>): string[] {
  return [...sources].flatMap(([path, text]) => {
    if (path === registry) return []
    if (!path.endsWith('.sql')) return /pg_\w*advisory|'advisory'/.test(text) ? [path] : []
    const keys = [...text.matchAll(/pg_\w*advisory\w*\((\w+)/g)].map(([, key]) => Number(key))
    return keys.every((key) => Object.values<number>(lockClass).includes(key)) ? [] : [path]
  })
}

/** Names of the registry that no source uses, and whose number no file of sql uses. */
function unusedLocks(sources: ReadonlyMap<string, string>): string[] {
  const texts = [...sources].filter(([path]) => path !== registry).map(([, text]) => text)
  return Object.entries(lockClass).flatMap(([name, key]) => {
    const use = new RegExp(`(?:lockSql\\.\\w+\\(|name: |\\[)'${name}'|\\(${key},`)
    return texts.some((text) => use.test(text)) ? [] : [name]
  })
}

test('every advisory lock is in the registry, and every entry of it is used', async () => {
  const sources = new Map([...(await readSources()), ...(await readSql())])

  expect(unknownLocks(sources)).toEqual([])
  expect(unusedLocks(sources)).toEqual([])
})

test('no two locks have the same number', () => {
  expect(new Set(Object.values(lockClass)).size).toBe(names.length)
})

test('a lock that is not in the registry, and an entry that is not used, are named', () => {
  const sources = new Map([
    ['src/a.ts', "await client.query('select pg_try_advisory_xact_lock($1)', [1])"],
    ['src/b.ts', "const lock = lockSql.wait('erasure')"],
    ['c.sql', 'perform pg_advisory_xact_lock(7399, rooftop_id);'],
    ['d.sql', 'perform pg_advisory_xact_lock(7305, group_id);'],
  ])

  expect(unknownLocks(sources)).toEqual(['src/a.ts', 'c.sql'])
  expect(unusedLocks(sources)).toEqual(
    names.filter((name) => name !== 'erasure' && name !== 'salespeople'),
  )
})
